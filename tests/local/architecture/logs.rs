//! The fields of log lines: none is called `message`, for that is the event's own name in the JSON
//! form, and a parser keeps only one of two fields of one name.

use super::sources;

/// The arguments of a macro's call that stand after `text`, up to the parenthesis that closes it,
/// with the literals emptied.
fn arguments(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let (mut depth, mut quoted, mut escaped) = (0_u32, false, false);
    for c in text.chars() {
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        match c {
            '"' => quoted = true,
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => break,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = found.last_mut() {
            last.push(c);
        }
    }
    found
}

/// The name of the field that an argument is, if it is one.
fn field(argument: &str) -> Option<&str> {
    let name = argument.split('=').next()?.trim();
    let name = name.trim_start_matches(['%', '?']);
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    (!name.is_empty() && name.chars().all(is_word)).then_some(name)
}

/// The fields of every log line in a source, each with its line.
fn fields(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for level in ["error", "warn", "info", "debug", "trace"] {
        let opening = format!("tracing::{level}!(");
        for (at, _) in text.match_indices(&opening) {
            let line = text[..at].lines().count();
            let arguments = arguments(&text[at + opening.len()..]);
            let names = arguments.iter().filter_map(|one| field(one));
            found.extend(names.map(|name| (line, name.to_owned())));
        }
    }
    found
}

#[test]
fn no_field_of_a_log_line_is_called_as_the_event_itself() {
    let mut count = 0;
    let mut problems = Vec::new();
    for (file, text) in sources("src") {
        for (line, name) in fields(&text) {
            count += 1;
            if name == "message" {
                problems.push(format!("{file}:{line}: call it words, or error"));
            }
        }
    }
    assert!(count > 20, "the log lines were not found: {count}");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn fields_are_found_in_every_form() {
    let code = "tracing::warn!(\n a = b.c(1, 2), %d, ?e, message, g.h = \"x, message\", \"i {j}\"\n);\n\
                other!(k); tracing::info!(\"l\"); tracing::info!(m = \"\\\")\", message = n);";
    let names: Vec<String> = fields(code).into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["a", "d", "e", "message", "g.h", "m", "message"]);
}
