//! Words for programs: reasons and types of conditions.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// A typed word: CamelCase. Those that this program says are in it and cost nothing to copy; one that
/// was read may be of another program, so it is kept as it came.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct Code(Cow<'static, str>);

impl Code {
    /// A word of this program.
    #[must_use]
    pub const fn new(word: &'static str) -> Self {
        Self(Cow::Borrowed(word))
    }
}

impl Deref for Code {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&'static str> for Code {
    fn from(word: &'static str) -> Self {
        Self::new(word)
    }
}

impl PartialEq<str> for Code {
    fn eq(&self, word: &str) -> bool {
        **self == *word
    }
}

impl PartialEq<&str> for Code {
    fn eq(&self, word: &&str) -> bool {
        **self == **word
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}
