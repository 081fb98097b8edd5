//! Texts for people, bounded.

/// Messages are cut to this many bytes (an event's note may have 1,024).
pub const MAX_MESSAGE: usize = 1000;

/// Cuts a message to [`MAX_MESSAGE`] bytes, at a character's border.
#[must_use]
pub fn cut(message: &str) -> String {
    if message.len() <= MAX_MESSAGE {
        return message.to_owned();
    }
    let dots = "...";
    let end = message.floor_char_boundary(MAX_MESSAGE - dots.len());
    format!("{}{dots}", &message[..end])
}

/// So many of something: `1 node`, `2 nodes`.
#[must_use]
pub fn counted(count: usize, of: &str) -> String {
    match count {
        1 => format!("1 {of}"),
        _ => format!("{count} {of}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_said_in_the_plural() {
        assert_eq!(counted(1, "node"), "1 node");
        assert_eq!(counted(0, "node"), "0 nodes");
    }

    #[test]
    fn long_messages_are_cut_at_a_characters_border() {
        let long = "ä".repeat(MAX_MESSAGE);
        let short = cut(&long);
        assert!(short.len() <= MAX_MESSAGE && short.ends_with("ä..."));
        assert_eq!(cut("short"), "short");
    }
}
