//! Reads a Rust source as far as its arrows go: which module paths does it name?
//!
//! Not a compiler: it knows comments, literals, `use` trees, inline modules and plain paths.

use std::collections::BTreeSet;

/// A path that a source names, in full from its crate's root or from an outside crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    /// From 1.
    pub(crate) line: usize,
    /// `["crate", "core", "state"]` or `["serde_json", "Value"]`.
    pub(crate) path: Vec<String>,
    /// It stands in an inline module `tests`.
    pub(crate) in_tests: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    PathSeparator,
    Sign(char),
}

/// All paths that a source names: those of its `use` lines, and those in its code that begin with
/// `crate`, `super`, `self` or a module that it declares. `module` is where the source stands: `["crate", "state"]` for
/// `src/core/state/mod.rs`.
pub(crate) fn mentions(text: &str, module: &[&str]) -> Vec<Mention> {
    let tokens = tokens(text);
    let mut reader = Reader {
        tokens: &tokens,
        at: 0,
        children: declared(&tokens),
        depth: module.len(),
        found: Vec::new(),
        module: module.iter().map(|one| (*one).to_owned()).collect(),
    };
    reader.block();
    reader.found
}

/// The modules that a source declares and that stand in files of their own.
fn declared(tokens: &[(Token, usize)]) -> BTreeSet<String> {
    let found = tokens.windows(3).filter_map(|three| match three {
        [
            (Token::Word(word), _),
            (Token::Word(name), _),
            (Token::Sign(';'), _),
        ] => (word == "mod").then(|| name.clone()),
        _ => None,
    });
    found.collect()
}

struct Reader<'a> {
    tokens: &'a [(Token, usize)],
    at: usize,
    children: BTreeSet<String>,
    /// How many names the file's own module has.
    depth: usize,
    found: Vec<Mention>,
    module: Vec<String>,
}

impl Reader<'_> {
    fn token(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead).map(|(token, _)| token)
    }

    fn word(&self, ahead: usize) -> Option<&str> {
        match self.token(ahead) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn is_sign(&self, ahead: usize, sign: char) -> bool {
        self.token(ahead) == Some(&Token::Sign(sign))
    }

    /// Up to the brace that ends this block, or the end.
    fn block(&mut self) {
        while self.at < self.tokens.len() {
            let joined = self.at > 0 && self.tokens[self.at - 1].0 == Token::PathSeparator;
            match (self.word(0), self.word(1)) {
                (Some("use"), _) if !joined => {
                    self.at += 1;
                    self.use_tree(&[]);
                }
                (Some("mod"), Some(name)) if self.is_sign(2, '{') => {
                    self.module.push(name.to_owned());
                    self.at += 3;
                    self.block();
                    self.module.pop();
                }
                (Some(_), _) if !joined => self.plain_path(),
                _ if self.is_sign(0, '{') => {
                    self.at += 1;
                    self.block();
                }
                _ if self.is_sign(0, '}') => {
                    self.at += 1;
                    return;
                }
                _ => self.at += 1,
            }
        }
    }

    /// `a::b::{c, d as e, f::*}` after `prefix`.
    fn use_tree(&mut self, prefix: &[String]) {
        let mut path = prefix.to_vec();
        let line = self.tokens.get(self.at).map_or(0, |(_, line)| *line);
        loop {
            if let Some(word) = self.word(0) {
                path.push(word.to_owned());
                self.at += 1;
            } else if self.is_sign(0, '{') {
                self.at += 1;
                while self.at < self.tokens.len() && !self.is_sign(0, '}') {
                    self.use_tree(&path);
                    if self.is_sign(0, ',') {
                        self.at += 1;
                    }
                }
                self.at += 1;
                return;
            } else if self.is_sign(0, '*') {
                self.at += 1;
                break;
            }
            if self.token(0) == Some(&Token::PathSeparator) {
                self.at += 1;
            } else {
                break;
            }
        }
        if self.word(0) == Some("as") {
            self.at += 2;
        }
        // Where a tree makes no sense, go on instead of standing still.
        if path.len() == prefix.len() && !self.is_sign(0, '}') {
            self.at += 1;
        }
        self.note(line, path);
    }

    /// A path in the code, if it begins with a word that says where from.
    fn plain_path(&mut self) {
        let line = self.tokens[self.at].1;
        let first = self.word(0).unwrap_or_default();
        let known = ["crate", "super", "self"].contains(&first) || self.children.contains(first);
        if !known || self.token(1) != Some(&Token::PathSeparator) {
            self.at += 1;
            return;
        }
        let mut path = Vec::new();
        while let Some(word) = self.word(0) {
            path.push(word.to_owned());
            self.at += 1;
            if self.token(0) != Some(&Token::PathSeparator) {
                break;
            }
            self.at += 1;
        }
        self.note(line, path);
    }

    fn note(&mut self, line: usize, path: Vec<String>) {
        let mut base = self.module.clone();
        let mut rest = path.into_iter().peekable();
        match rest.peek().map(String::as_str) {
            None => return,
            Some("crate") => base.truncate(1),
            Some("self" | "super") => {}
            Some(child) if self.children.contains(child) => base.truncate(self.depth),
            Some(_) => base.clear(),
        }
        while let Some(word) = rest.next_if(|word| ["crate", "self", "super"].contains(&&**word)) {
            if word == "super" {
                base.pop();
            }
        }
        base.extend(rest.filter(|word| word != "self"));
        self.found.push(Mention {
            line,
            path: base,
            in_tests: self.module.iter().any(|one| one == "tests"),
        });
    }
}

/// Words and signs with their lines; comments, literals and lifetimes are left out.
fn tokens(text: &str) -> Vec<(Token, usize)> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < chars.len() {
        let end = skip(&chars, at).max(at);
        if end > at {
            line += chars[at..end].iter().filter(|c| **c == '\n').count();
            at = end;
            continue;
        }
        let c = chars[at];
        if c.is_alphanumeric() || c == '_' {
            let is_word = |c: &char| c.is_alphanumeric() || *c == '_';
            let len = chars[at..].iter().take_while(|c| is_word(c)).count();
            tokens.push((Token::Word(chars[at..at + len].iter().collect()), line));
            at += len;
        } else if chars[at..].starts_with(&[':', ':']) {
            tokens.push((Token::PathSeparator, line));
            at += 2;
        } else {
            if !c.is_whitespace() {
                tokens.push((Token::Sign(c), line));
            }
            line += usize::from(c == '\n');
            at += 1;
        }
    }
    tokens
}

/// The end of the comment, literal or lifetime that begins here; `at` where none does.
fn skip(chars: &[char], at: usize) -> usize {
    let rest = &chars[at..];
    let until = |from: usize, end: &[char]| {
        let found = rest[from..].windows(end.len()).position(|one| one == end);
        found.map_or(chars.len(), |found| at + from + found + end.len())
    };
    let after_word = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    match rest {
        ['/', '/', ..] => until(2, &['\n']),
        ['/', '*', ..] => until(2, &['*', '/']),
        ['r', '"' | '#', ..] | ['b', 'r', '"' | '#', ..] if !after_word => {
            let start = 1 + usize::from(rest[0] == 'b');
            let hashes = rest[start..].iter().take_while(|c| **c == '#').count();
            if rest.get(start + hashes) != Some(&'"') {
                return at;
            }
            let mut end = vec!['"'];
            end.extend(vec!['#'; hashes]);
            until(start + hashes + 1, &end)
        }
        ['"', ..] => at + quoted(rest, '"'),
        ['\'', '\\', ..] | ['\'', _, '\'', ..] => at + quoted(rest, '\''),
        ['\'', ..] => at + 1 + rest[1..].iter().take_while(|c| c.is_alphanumeric()).count(),
        _ => at,
    }
}

/// The length of a literal in quotes.
fn quoted(rest: &[char], quote: char) -> usize {
    let mut len = 1;
    while len < rest.len() && rest[len] != quote {
        len += 1 + usize::from(rest[len] == '\\');
    }
    (len + 1).min(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str, module: &[&str]) -> Vec<String> {
        let found = mentions(text, module);
        found.iter().map(|one| one.path.join("::")).collect()
    }

    #[test]
    fn use_trees_are_resolved_from_where_they_stand() {
        let module = ["crate", "core", "state", "pods"];
        let text = "pub(crate) use super::{ids::{Id, NodeId as N}, super::units::*};\nuse self::x;";
        assert_eq!(
            paths(text, &module),
            [
                "crate::core::state::ids::Id",
                "crate::core::state::ids::NodeId",
                "crate::core::units",
                "crate::core::state::pods::x",
            ]
        );
    }

    #[test]
    fn paths_in_the_code_count_as_well() {
        let text = "fn f() -> crate::live::X { let a: super::b::C = super::d!(1); a.b() }";
        assert_eq!(
            paths(text, &["crate", "core", "a"]),
            ["crate::live::X", "crate::core::b::C", "crate::core::d"]
        );
    }

    #[test]
    fn an_inline_module_is_one_level_deeper() {
        let text =
            "mod tests { use super::*; fn f() { if x { super::super::g(); } } }\nuse super::h;";
        assert_eq!(
            paths(text, &["crate", "a", "b"]),
            ["crate::a::b", "crate::a::g", "crate::a::h"]
        );
        let tests = mentions(text, &["crate", "a", "b"]);
        assert_eq!(
            tests.iter().map(|one| one.in_tests).collect::<Vec<_>>(),
            [true, true, false]
        );
    }

    #[test]
    fn a_child_is_a_path_of_its_own() {
        let text = "mod a; pub use a::X; fn f() { a::b::g(); c::h() } mod tests { use a::Y; }";
        assert_eq!(
            paths(text, &["crate", "m"]),
            ["crate::m::a::X", "crate::m::a::b::g", "crate::m::a::Y"]
        );
    }

    #[test]
    fn comments_literals_and_lifetimes_name_nothing() {
        let text = r##"
// use crate::a;
/* use crate::b; */
const S: &'static str = "use crate::c; \" use crate::d;";
const R: &str = r#"use crate::e; " "#;
const C: char = '"'; const Q: char = '\'';
use crate::f;
"##;
        let found = mentions(text, &["crate"]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            (found[0].line, found[0].path.join("::").as_str()),
            (7, "crate::f")
        );
    }

    #[test]
    fn outside_crates_keep_their_name() {
        assert_eq!(
            paths(
                "use std::{fmt, io::{self, Read}};\nuse serde_json::Value;",
                &["crate"]
            ),
            ["std::fmt", "std::io", "std::io::Read", "serde_json::Value"]
        );
    }

    #[test]
    fn broken_sources_end() {
        for text in [
            "use",
            "use {",
            "use a::{b",
            "mod x {",
            "use crate::{{};",
            "'",
            "\"",
            "r#",
            "}",
        ] {
            let _ = paths(text, &["crate"]);
        }
    }
}
