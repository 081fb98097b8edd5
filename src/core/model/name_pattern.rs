//! Patterns of names. Regular expressions are read only with the feature `serde`: the core knows none.

use std::fmt;
use std::sync::Arc;

/// A pattern of names.
#[derive(Clone)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "String", into = "String")
)]
pub struct NamePattern {
    text: String,
    /// How every name begins that fits, as far as that is easily seen: most names need no more.
    prefix: String,
    test: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

impl NamePattern {
    /// One whose test somebody else has made. Patterns that are written alike have to test alike.
    pub fn new(
        text: impl Into<String>,
        test: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            text: text.into(),
            prefix: String::new(),
            test: Arc::new(test),
        }
    }

    /// Whether a name fits.
    #[must_use]
    pub fn fits(&self, name: &str) -> bool {
        name.starts_with(&self.prefix) && (self.test)(name)
    }
}

impl fmt::Debug for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

impl PartialEq for NamePattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for NamePattern {}

#[cfg(feature = "serde")]
mod expression {
    use super::NamePattern;
    use regex::RegexBuilder;

    /// How much memory a regular expression may take, in bytes.
    const MOST_MEMORY: usize = 1 << 20;

    impl NamePattern {
        /// That of a regular expression.
        ///
        /// # Errors
        ///
        /// It is none, or takes too much memory: why, in a line.
        pub fn of_expression(text: &str) -> Result<Self, String> {
            let mut builder = RegexBuilder::new(text);
            let limited = builder.size_limit(MOST_MEMORY).dfa_size_limit(MOST_MEMORY);
            match limited.build() {
                Ok(regex) => Ok(Self {
                    prefix: prefix(text),
                    ..Self::new(text, move |name| regex.is_match(name))
                }),
                Err(error) => {
                    // It draws a picture in several lines, whose last says what is wrong.
                    let words = error.to_string();
                    let last = words.lines().last().unwrap_or_default();
                    Err(last.trim_start_matches("error: ").to_owned())
                }
            }
        }
    }

    impl TryFrom<String> for NamePattern {
        type Error = String;

        fn try_from(text: String) -> Result<Self, String> {
            Self::of_expression(&text)
        }
    }

    impl From<NamePattern> for String {
        fn from(pattern: NamePattern) -> Self {
            pattern.text
        }
    }

    /// How every text begins that fits an expression: what stands between `^` and the first sign that
    /// is not a plain one.
    fn prefix(expression: &str) -> String {
        let is_plain = |sign: &char| sign.is_ascii_alphanumeric() || *sign == '-';
        let Some(anchored) = expression.strip_prefix('^') else {
            return String::new();
        };
        if expression.contains('|') || expression.contains("(?") {
            return String::new();
        }
        let mut plain: String = anchored.chars().take_while(is_plain).collect();
        // What may be there or not, or several times, is no part of it.
        if anchored[plain.len()..].starts_with(['*', '?', '{', '+']) {
            plain.pop();
        }
        plain
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_beginning_of_an_expression_is_only_what_every_name_begins_with() {
            for (expression, begins) in [
                ("^node-1[0-9]+$", "node-1"),
                ("^node-$", "node-"),
                ("node", ""),
                ("^ab*", "a"),
                ("^ab?c", "a"),
                ("^ab{0}c", "a"),
                ("^ab+", "a"),
                ("^a.b", "a"),
                ("^a|b", ""),
                ("^(?i)a", ""),
                ("(^a)", ""),
            ] {
                assert_eq!(prefix(expression), begins, "{expression}");
            }
        }
    }
}
