//! What SockJS puts round the messages of a WebSocket: no I/O. Of its ways this is the only one that is served; a
//! client of it tries the others where there is no WebSocket.

use serde_json::{Value, json};

/// What a client asks for first.
pub(super) fn info(entropy: u32) -> Value {
    json!({"websocket": true, "cookie_needed": false, "origins": ["*:*"], "entropy": entropy})
}

/// The first that a server says.
pub(super) const OPEN: &str = "o";

/// A message of a server.
pub(super) fn wrapped(text: &str) -> String {
    format!("a{}", json!([text]))
}

/// The last that a server says.
pub(super) fn close() -> String {
    "c[3000,\"Go away!\"]".to_owned()
}

/// The messages in what a client has sent; `None`: it is no such thing.
pub(super) fn unwrapped(text: &str) -> Option<Vec<String>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    match serde_json::from_str(text).ok()? {
        Value::String(one) => Some(vec![one]),
        Value::Array(all) => {
            let texts = all.into_iter().map(|one| match one {
                Value::String(text) => Some(text),
                _ => None,
            });
            texts.collect()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_texts_in_a_list() {
        assert_eq!(wrapped("a\n\0"), "a[\"a\\n\\u0000\"]");
        let two = unwrapped("[\"a\\u0000\",\"b\"]").unwrap();
        assert_eq!(two, ["a\0", "b"]);
        assert_eq!(unwrapped("\"a\"").unwrap(), ["a"]);
        assert_eq!(unwrapped("").unwrap(), [""; 0]);
        for bad in ["a", "{}", "[1]", "[\"a\",null]", "null", "[\"\\ud800\"]"] {
            assert_eq!(unwrapped(bad), None, "{bad}");
        }
    }
}
