//! Frames of STOMP 1.1 and 1.2, read from bytes and written as text. No I/O, and nothing of what frames mean.
//!
//! Bytes may come in any pieces: a message of a WebSocket may hold a part of a frame, or several. What is read is
//! bounded, and the first thing that is wrong ends it: where the next frame would begin, nobody knows then.

use std::fmt::Write;

/// How long a frame may be, in bytes: clients send no bodies here.
pub(crate) const MOST_FRAME: usize = 16 << 10;
/// Its headers, at most.
const MOST_HEADERS: usize = 32;

/// The longest of commands, `UNSUBSCRIBE`.
const MOST_COMMAND: usize = 11;

/// What a client may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// `CONNECT`, or `STOMP`, which is the same.
    Connect,
    Subscribe,
    Unsubscribe,
    Disconnect,
    Send,
    Ack,
    Nack,
    Begin,
    Commit,
    Abort,
}

impl Command {
    const ALL: [(&'static str, Self); 11] = [
        ("CONNECT", Self::Connect),
        ("STOMP", Self::Connect),
        ("SUBSCRIBE", Self::Subscribe),
        ("UNSUBSCRIBE", Self::Unsubscribe),
        ("DISCONNECT", Self::Disconnect),
        ("SEND", Self::Send),
        ("ACK", Self::Ack),
        ("NACK", Self::Nack),
        ("BEGIN", Self::Begin),
        ("COMMIT", Self::Commit),
        ("ABORT", Self::Abort),
    ];

    fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, command)| *command)
    }

    /// Its name, as clients write it.
    pub(crate) fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, command)| *command == self);
        found.map_or("", |(name, _)| name)
    }
}

/// What a client has said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) command: Command,
    headers: Vec<(String, String)>,
}

impl Frame {
    /// The value of a header: of several of one name the first counts.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The same, in whatever letters the name is written.
    pub(crate) fn header_in_any_case(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// Why something is no frame, in words.
pub(crate) type Wrong = String;

/// Makes frames of bytes.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    bytes: Vec<u8>,
    /// In so many of them is no frame that is whole.
    looked_at: usize,
    /// With so many there may be one, or something wrong ...
    again_at: usize,
    /// ... and with an end before, unless it says how long it is.
    has_length: bool,
    /// How often they were read.
    #[cfg(test)]
    reads: usize,
}

impl Decoder {
    /// Takes some bytes: at most so many as [`Decoder::next`] leaves behind, and a message.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next frame; `None`: it is not there in whole.
    pub(crate) fn next(&mut self) -> Result<Option<Frame>, Wrong> {
        // Ends of lines between frames are signs of life.
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let ends = self.bytes.iter().take_while(|byte| is_end(byte)).count();
        self.bytes.drain(..ends);
        let have = self.bytes.len();
        if have > self.looked_at && self.is_worth_a_look() {
            #[cfg(test)]
            {
                self.reads += 1;
            }
            match read(&self.bytes)? {
                Found::Frame(frame, length) => {
                    self.bytes.drain(..length);
                    (self.looked_at, self.again_at, self.has_length) = (0, 0, false);
                    return Ok(Some(frame));
                }
                Found::Begun => self.again_at = 2 * have,
                Found::EndsAt(end) => (self.again_at, self.has_length) = (end, true),
            }
        }
        if have > MOST_FRAME {
            return Err(too_long());
        }
        self.looked_at = have;
        Ok(None)
    }

    /// Whether what has come since may have made a frame whole. Who sends bytes one by one does not have each of them
    /// read as often as there are others.
    fn is_worth_a_look(&self) -> bool {
        let news = self.bytes.get(self.looked_at..).unwrap_or_default();
        self.bytes.len() >= self.again_at || !self.has_length && news.contains(&0)
    }
}

/// What bytes begin with.
enum Found {
    /// A frame of this length.
    Frame(Frame, usize),
    /// What may become one.
    Begun,
    /// One that will have this length.
    EndsAt(usize),
}

fn too_long() -> Wrong {
    format!("a frame has more than {MOST_FRAME} bytes")
}

/// The frame that bytes begin with.
fn read(bytes: &[u8]) -> Result<Found, Wrong> {
    let mut lines = Lines { bytes, at: 0 };
    let Some(name) = lines.next()? else {
        // No command is longer, with the end of its line.
        let is_long = bytes.len() > MOST_COMMAND + 1;
        let words = "what was sent begins with no command";
        return if is_long {
            Err(words.to_owned())
        } else {
            Ok(Found::Begun)
        };
    };
    let command = Command::named(name);
    let command = command.ok_or_else(|| format!("{:?} is no command", shortened(name)))?;
    let mut headers = Vec::new();
    loop {
        let Some(line) = lines.next()? else {
            return Ok(Found::Begun);
        };
        if line.is_empty() {
            break;
        }
        if headers.len() >= MOST_HEADERS {
            return Err(format!("a frame has more than {MOST_HEADERS} headers"));
        }
        headers.push(header(line, command)?);
    }
    let frame = Frame { command, headers };
    let begin = lines.at;
    let length = match frame.header("content-length") {
        Some(length) => {
            let length = length.parse::<usize>();
            let length = length.map_err(|_| "content-length: is no number".to_owned())?;
            let end = begin.saturating_add(length);
            if end >= MOST_FRAME {
                return Err(too_long());
            }
            match bytes.get(end) {
                Some(0) => length,
                Some(_) => return Err("a body is longer than its content-length".to_owned()),
                None => return Ok(Found::EndsAt(end + 1)),
            }
        }
        None => match bytes.iter().skip(begin).position(|byte| *byte == 0) {
            Some(length) => length,
            None => return Ok(Found::Begun),
        },
    };
    let end = begin + length + 1;
    if end > MOST_FRAME {
        return Err(too_long());
    }
    if length > 0 && command != Command::Send {
        return Err(format!("{} has a body, and may not", command.name()));
    }
    Ok(Found::Frame(frame, end))
}

/// Lines of text, each ended by LF or CRLF.
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Lines<'a> {
    /// The next; `None`: its end is not there.
    fn next(&mut self) -> Result<Option<&'a str>, Wrong> {
        let rest = &self.bytes[self.at..];
        // Whoever ends a frame within its headers has forgotten the empty line.
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | 0));
        let Some(end) = end else {
            return Ok(None);
        };
        if rest[end] == 0 {
            return Err("a frame ends before the empty line behind its headers".to_owned());
        }
        self.at += end + 1;
        let line = &rest[..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = std::str::from_utf8(line);
        Ok(Some(text.map_err(|_| "a line is no UTF-8".to_owned())?))
    }
}

fn header(line: &str, command: Command) -> Result<(String, String), Wrong> {
    let Some((name, value)) = line.split_once(':') else {
        return Err(format!("header {:?} has no colon", shortened(line)));
    };
    if name.is_empty() {
        return Err("a header has no name".to_owned());
    }
    // As those of 1.0 did: what is spoken is not known before it.
    if command == Command::Connect {
        return Ok((name.to_owned(), value.to_owned()));
    }
    Ok((unescaped(name)?, unescaped(value)?))
}

fn unescaped(text: &str) -> Result<String, Wrong> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            out.push(char);
            continue;
        }
        out.push(match chars.next() {
            Some('n') => '\n',
            Some('r') => '\r',
            Some('c') => ':',
            Some('\\') => '\\',
            _ => return Err("a header has an escape that means nothing".to_owned()),
        });
    }
    Ok(out)
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            ':' => out.push_str("\\c"),
            '\\' => out.push_str("\\\\"),
            // The end of a frame, for whoever looks for it.
            '\0' => out.push(' '),
            char => out.push(char),
        }
    }
    out
}

/// As much of a text as may be said back.
fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

/// A frame of a server. The body is text without NUL: so no length is written, which some clients take to be of
/// characters and others of bytes.
pub(crate) fn written(command: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{command}\n");
    for (name, value) in headers {
        let value = if command == "CONNECTED" {
            (*value).to_owned()
        } else {
            escaped(value)
        };
        // To a string nothing fails.
        let _ = writeln!(text, "{name}:{value}");
    }
    text.push('\n');
    text.push_str(body);
    text.push('\0');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<Frame>, Wrong> {
        let mut decoder = Decoder::default();
        decoder.feed(bytes);
        let mut found = Vec::new();
        while let Some(frame) = decoder.next()? {
            found.push(frame);
        }
        Ok(found)
    }

    #[test]
    fn a_frame_has_a_command_and_headers_of_which_the_first_counts() {
        let found = all(b"SUBSCRIBE\nid:0\ndestination:/topic/jobs\nid:1\n\n\0").unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].command, Command::Subscribe);
        assert_eq!(found[0].header("id"), Some("0"));
        assert_eq!(found[0].header("destination"), Some("/topic/jobs"));
        assert_eq!(found[0].header("ID"), None);
        assert_eq!(found[0].header_in_any_case("ID"), Some("0"));
    }

    #[test]
    fn frames_come_in_any_pieces_with_signs_of_life_between() {
        let text =
            b"\n\r\nSTOMP\r\naccept-version:1.2\r\n\r\n\0\n\n\nDISCONNECT\nreceipt:7\n\n\0\n";
        let whole = all(text).unwrap();
        assert_eq!(whole.len(), 2);
        assert_eq!(whole[0].header("accept-version"), Some("1.2"));
        for size in 1..text.len() {
            let mut decoder = Decoder::default();
            let mut found = Vec::new();
            for piece in text.chunks(size) {
                decoder.feed(piece);
                while let Some(frame) = decoder.next().unwrap() {
                    found.push(frame);
                }
            }
            assert_eq!(found, whole, "in pieces of {size}");
            assert!(decoder.next().unwrap().is_none());
            assert!(decoder.bytes.is_empty());
        }
    }

    #[test]
    fn headers_are_unescaped_except_before_it_is_known_what_is_spoken() {
        let found = all(b"SUBSCRIBE\nid:a\\cb\\n\\r\\\\n\n\n\0").unwrap();
        assert_eq!(found[0].header("id"), Some("a:b\n\r\\n"));
        let found = all(b"CONNECT\nlogin:a\\cb\npasscode:c:d\n\n\0").unwrap();
        assert_eq!(found[0].header("login"), Some("a\\cb"));
        assert_eq!(found[0].header("passcode"), Some("c:d"));
        for bad in ["a\\t", "a\\", "\\0"] {
            let text = format!("SUBSCRIBE\nid:{bad}\n\n\0");
            assert!(all(text.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_body_may_hold_nul_where_its_length_is_said() {
        let found = all(b"SEND\ncontent-length:3\n\na\0b\0DISCONNECT\n\n\0").unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(all(b"SEND\n\nsome body\0").unwrap().len(), 1);
        let wrong = all(b"SEND\ncontent-length:1\n\nab\0").unwrap_err();
        assert_eq!(wrong, "a body is longer than its content-length");
        assert!(all(b"SUBSCRIBE\n\nbody\0").is_err());
    }

    #[test]
    fn what_is_no_frame_is_refused_in_words() {
        let many = format!("SUBSCRIBE\n{}\n\0", "a:b\n".repeat(MOST_HEADERS + 1));
        let long = format!("SUBSCRIBE\na:{}\n\n\0", "b".repeat(MOST_FRAME));
        let unended = format!("SUBSCRIBE\na:{}", "b".repeat(MOST_FRAME));
        let endless = "x".repeat(MOST_FRAME + 1);
        let huge = format!("SEND\ncontent-length:{}\n\n", u64::MAX);
        let bad: [(&[u8], &str); 14] = [
            (b"GET / HTTP/1.1\r\n", "is no command"),
            (b"connect\n\n\0", "is no command"),
            (b"\0", "ends before"),
            (b"SUBSCRIBE\0", "ends before"),
            (b"SUBSCRIBE\nid:0\0", "ends before"),
            (b"SUBSCRIBE\nid\n\n\0", "no colon"),
            (b"SUBSCRIBE\n:0\n\n\0", "no name"),
            (b"SUBSCRIBE\nid:\xff\xfe\n\n\0", "no UTF-8"),
            (b"SEND\ncontent-length:-1\n\n\0", "no number"),
            (huge.as_bytes(), "more than 16384 bytes"),
            (many.as_bytes(), "more than 32 headers"),
            (long.as_bytes(), "more than 16384 bytes"),
            (endless.as_bytes(), "begins with no command"),
            (unended.as_bytes(), "more than 16384 bytes"),
        ];
        for (bytes, expected) in bad {
            let wrong = all(bytes).unwrap_err();
            assert!(wrong.contains(expected), "{wrong}: {expected}");
        }
    }

    #[test]
    fn no_bytes_make_it_panic_and_all_that_it_keeps_is_bounded() {
        // All short sequences of what matters to it.
        let letters: [&[u8]; 8] = [
            b"\n",
            b"\0",
            b"\r",
            b":",
            b"\\",
            b"\xff",
            b"SEND",
            b"content-length:2",
        ];
        for number in 0..8_usize.pow(6) {
            let mut rest = number;
            let mut decoder = Decoder::default();
            for _ in 0..6 {
                decoder.feed(letters[rest % 8]);
                rest /= 8;
                while let Ok(Some(_)) = decoder.next() {}
            }
        }
        let mut decoder = Decoder::default();
        decoder.feed(b"SUBSCRIBE\n");
        let mut fed = 0;
        while decoder.next().is_ok() {
            decoder.feed(b"a");
            fed += 1;
            assert!(fed <= MOST_FRAME, "it is read for ever");
        }
        assert!(fed > MOST_FRAME / 2);
    }

    #[test]
    fn what_comes_byte_by_byte_is_not_read_as_often() {
        let headers = "a:b\n".repeat(20);
        let nulls = "\0".repeat(8_000);
        let frames = [
            format!("SEND\n{headers}\n{}\0", "x".repeat(8_000)),
            format!("SEND\ncontent-length:8000\n{headers}\n{nulls}\0"),
            format!("CONNECT\nlong:{}\n\n\0", "x".repeat(900)),
        ];
        for frame in frames {
            let mut decoder = Decoder::default();
            let mut found = 0;
            for byte in frame.as_bytes() {
                decoder.feed(&[*byte]);
                found += usize::from(decoder.next().unwrap().is_some());
            }
            assert_eq!(found, 1);
            assert!(decoder.reads < 40, "{}", decoder.reads);
        }
    }

    #[test]
    fn what_is_written_can_be_read() {
        let text = written("MESSAGE", &[("subscription", "a:\\\n"), ("n", "x\0")], "{}");
        assert_eq!(text, "MESSAGE\nsubscription:a\\c\\\\\\n\nn:x \n\n{}\0");
        let text = written(
            "CONNECTED",
            &[("heart-beat", "1,2"), ("session", "a:b")],
            "",
        );
        assert_eq!(text, "CONNECTED\nheart-beat:1,2\nsession:a:b\n\n\0");
    }
}
