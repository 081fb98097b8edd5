//! Values of plugins in other processes: their names, where they are, how long they may take.

use muster_api::duration;
use muster_api::yaml::short;
use muster_model::units::Millis;
use serde::{Deserialize, Serialize};

/// The name of a plugin in another process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RemoteName(String);

impl RemoteName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RemoteName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        if (1..=63).contains(&name.len()) && name.chars().all(fine) {
            return Ok(Self(name));
        }
        let name = short(&name);
        Err(format!(
            "found {name:?}: expected a name: letters, digits, '-', '_' and '.', 1 to 63"
        ))
    }
}

impl From<RemoteName> for String {
    fn from(name: RemoteName) -> Self {
        name.0
    }
}

/// A URL of `http` or `https` with a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HttpUrl(String);

impl HttpUrl {
    /// The URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is one of `https`.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.0.starts_with("https://")
    }
}

impl TryFrom<String> for HttpUrl {
    type Error = String;

    fn try_from(url: String) -> Result<Self, String> {
        let wrong = |why: &str| {
            let url = short(&url);
            Err(format!("found {url:?}: {why}"))
        };
        let Ok(parsed) = url.parse::<http::Uri>() else {
            return wrong("expected a URL, such as http://127.0.0.1:8888/plugin");
        };
        if !matches!(parsed.scheme_str(), Some("http" | "https")) {
            return wrong("expected a URL that begins with http:// or https://");
        }
        match parsed.authority() {
            Some(authority) if authority.as_str().contains('@') => {
                wrong("a URL with a user's name is not supported: use TLS with a certificate")
            }
            Some(authority) if !authority.host().is_empty() => Ok(Self(url)),
            _ => wrong("the URL has no host"),
        }
    }
}

impl From<HttpUrl> for String {
    fn from(url: HttpUrl) -> Self {
        url.0
    }
}

/// How long an answer may take: 10 ms to a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timeout<const DEFAULT: u64>(Millis);

/// The shortest that makes sense.
const SHORTEST: Millis = Millis(10);
/// The longest for which a gang waits for one answer.
const LONGEST: Millis = Millis(60_000);

impl<const DEFAULT: u64> Timeout<DEFAULT> {
    /// The span.
    #[must_use]
    pub const fn millis(self) -> Millis {
        self.0
    }
}

impl<const DEFAULT: u64> Default for Timeout<DEFAULT> {
    fn default() -> Self {
        Self(Millis(DEFAULT))
    }
}

impl<const DEFAULT: u64> TryFrom<String> for Timeout<DEFAULT> {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let span = duration::parse(&text).map_err(|error| error.to_string())?;
        if (SHORTEST..=LONGEST).contains(&span) {
            return Ok(Self(span));
        }
        Err(format!(
            "found {text}: expected a duration from 10ms to 60s"
        ))
    }
}

impl<const DEFAULT: u64> From<Timeout<DEFAULT>> for String {
    fn from(span: Timeout<DEFAULT>) -> Self {
        span.0.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_http_with_a_host_and_without_a_user() {
        for url in [
            "http://127.0.0.1:8888/x",
            "https://plugins.svc",
            "http://[::1]:1/",
        ] {
            assert!(HttpUrl::try_from(url.to_owned()).is_ok(), "{url}");
        }
        for url in [
            "",
            "127.0.0.1:80",
            "/x",
            "ftp://a/",
            "http://",
            "http://a b",
            "http://u:p@h/",
        ] {
            assert!(HttpUrl::try_from(url.to_owned()).is_err(), "{url}");
        }
    }

    #[test]
    fn an_answer_may_take_ten_milliseconds_to_a_minute() {
        for text in ["0", "9ms", "61s", "soon"] {
            assert!(Timeout::<1>::try_from(text.to_owned()).is_err(), "{text}");
        }
        let span = Timeout::<1>::try_from("1.5s".to_owned()).unwrap();
        assert_eq!(span.millis(), Millis(1_500));
    }
}
