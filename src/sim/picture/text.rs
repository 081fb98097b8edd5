//! Words in an SVG file: what users chose stays words, and fits.

/// A text as it may stand in XML, in an element or an attribute. What XML cannot have is replaced.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for one in text.chars() {
        match one {
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '&' => safe += "&amp;",
            '"' => safe += "&quot;",
            '\'' => safe += "&apos;",
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            one if one.is_control() => {
                safe.push(if one.is_whitespace() { ' ' } else { '\u{fffd}' });
            }
            // Such as turn the direction of what follows.
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            one => safe.push(one),
        }
    }
    safe
}

/// About how wide a text is, in tenths of a pixel, in letters of this many pixels.
pub(super) fn width(text: &str, size: u32) -> u32 {
    let of = |one: char| match one {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 35,
        'f' | 'r' | 't' | '-' | '(' | ')' | '/' => 42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 97,
        'A'..='Z' => 70,
        one if one.is_ascii() => 63,
        _ => 100,
    };
    let hundredths: u32 = text.chars().map(of).fold(0, u32::saturating_add);
    hundredths.saturating_mul(size) / 10
}

/// A text that is no wider than so many pixels: what is too much is cut off.
pub(super) fn fit(text: &str, size: u32, most: u32) -> String {
    if width(text, size) <= most.saturating_mul(10) {
        return text.to_owned();
    }
    let mut kept = String::new();
    for one in text.chars() {
        kept.push(one);
        if width(&kept, size) + width("…", size) > most.saturating_mul(10) {
            kept.pop();
            break;
        }
    }
    kept.push('…');
    kept
}

/// A text in at most so many lines.
pub(super) fn lines(text: &str, size: u32, wide: u32, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut words = text.split_whitespace().peekable();
    while words.peek().is_some() {
        if lines.len() + 1 == most {
            let rest: Vec<&str> = words.by_ref().take(60).collect();
            lines.push(fit(&rest.join(" "), size, wide));
            return lines;
        }
        let mut line = words.next().unwrap_or_default().to_owned();
        while let Some(word) = words.peek() {
            let longer = format!("{line} {word}");
            if width(&longer, size) > wide.saturating_mul(10) {
                break;
            }
            line = longer;
            words.next();
        }
        lines.push(fit(&line, size, wide));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_words_stay_words() {
        let hostile = "</text><script>\"'&\u{0}\u{1b}\u{202e}\n\u{ffff}";
        let safe = escaped(hostile);
        assert_eq!(
            safe,
            "&lt;/text&gt;&lt;script&gt;&quot;&apos;&amp;\u{fffd}\u{fffd} \u{fffd}"
        );
    }

    #[test]
    fn what_is_too_long_is_cut_off() {
        assert_eq!(fit("short", 11, 100), "short");
        let cut = fit(&"x".repeat(300), 11, 100);
        assert!(cut.ends_with('…') && width(&cut, 11) <= 1_000, "{cut}");
        assert_eq!(fit("abc", 11, 0), "…");
    }

    #[test]
    fn words_are_broken_into_lines_and_the_last_says_that_there_is_more() {
        let text = "one two three four five six seven eight nine ten eleven twelve";
        let found = lines(text, 10, 80, 2);
        assert_eq!(found.len(), 2);
        assert!(found[1].ends_with('…'), "{found:?}");
        assert_eq!(lines("one two", 10, 200, 2), ["one two"]);
        assert!(lines("", 10, 200, 2).is_empty());
    }
}
