//! The log of a command, on standard error: its form, how much of it, and its colours.

use std::env;
use std::io::{IsTerminal, stderr};
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::filter::{EnvFilter, filter_fn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{fmt, registry};

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What others log and we say ourselves, in words and once, unless `$RUST_LOG` names it: that a
/// kind may not be listed.
const QUIET: &str = "kube_runtime::watcher=error";

/// The variable that says how much is logged.
const FILTER: &str = "RUST_LOG";

/// Starts the log; without `$RUST_LOG`, lines below `level` are left out.
pub(super) fn start(format: Format, level: &str) {
    let wanted = env::var(FILTER).ok().filter(|text| !text.is_empty());
    let (filter, problem) = filter(wanted.as_deref(), level);
    let no_color = env::var("NO_COLOR").ok();
    let colours = stderr().is_terminal() && wants_colours(no_color.as_deref());
    subscriber(format, filter, colours, stderr).init();
    if let Some(error) = problem {
        tracing::warn!(error, default = level, "$RUST_LOG cannot be read");
    }
}

fn subscriber<W>(
    format: Format,
    filter: EnvFilter,
    colours: bool,
    writer: W,
) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = fmt::layer().with_ansi(colours).with_writer(writer);
    let lines = match format {
        Format::Text => lines.boxed(),
        Format::Json => lines.json().boxed(),
    };
    let once = filter_fn(|event| !is_repeated(event));
    registry().with(lines.with_filter(once)).with(filter)
}

/// Whether this is what kube logs with each connection where the server's certificate is not
/// checked: we say it once. What else it warns of there has a field, and is shown.
fn is_repeated(event: &Metadata<'_>) -> bool {
    event.target().starts_with("kube_client::client::tls")
        && *event.level() == Level::WARN
        && event.fields().len() == 1
}

/// What is logged, and what is wrong with what was wanted.
fn filter(wanted: Option<&str>, level: &str) -> (EnvFilter, Option<String>) {
    let of = |more: &str| format!("{QUIET},{more}");
    match wanted.map(|text| EnvFilter::try_new(of(text))) {
        Some(Ok(filter)) => (filter, None),
        Some(Err(error)) => (EnvFilter::new(of(level)), Some(error.to_string())),
        None => (EnvFilter::new(of(level)), None),
    }
}

/// Whether `$NO_COLOR` (<https://no-color.org>) lets a terminal have colours.
fn wants_colours(no_color: Option<&str>) -> bool {
    no_color.is_none_or(str::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    /// A file that is read again.
    #[derive(Clone, Default)]
    struct File(Arc<Mutex<Vec<u8>>>);

    impl Write for File {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// What is written of what happens.
    fn written(format: Format, colours: bool, happens: impl FnOnce()) -> String {
        let file = File::default();
        let writer = file.clone();
        let (filter, _) = filter(None, "info");
        let subscriber = subscriber(format, filter, colours, move || writer.clone());
        tracing::subscriber::with_default(subscriber, happens);
        let bytes = file.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    /// A field that stands there twice is an error of this parser.
    #[derive(Deserialize)]
    struct Line {
        fields: Fields,
    }

    #[derive(Deserialize)]
    struct Fields {
        message: String,
        words: String,
    }

    #[test]
    fn a_line_of_json_has_the_events_name_and_its_words() {
        let line = written(Format::Json, false, || {
            tracing::info!(words = "no room", "waits");
            tracing::debug!("not this");
        });
        let fields = serde_json::from_str::<Line>(&line).unwrap().fields;
        let fields = (fields.message.as_str(), fields.words.as_str());
        assert_eq!(fields, ("waits", "no room"));
    }

    #[test]
    fn colours_are_left_out_of_files_and_where_they_are_not_wanted() {
        let line = |colours| written(Format::Text, colours, || tracing::info!("a"));
        assert!(!line(false).contains('\u{1b}'));
        assert!(line(true).contains('\u{1b}'));
        assert!(wants_colours(None) && wants_colours(Some("")));
        assert!(!wants_colours(Some("1")));
    }

    #[test]
    fn that_a_certificate_is_not_checked_is_not_repeated_and_other_warnings_are_shown() {
        let lines = written(Format::Text, false, || {
            for _ in 0..3 {
                tracing::warn!(target: "kube_client::client::tls::rustls_tls", "bypassed");
            }
            tracing::warn!(target: "kube_client::client::tls::rustls_tls", path = "ca", "stale");
            tracing::warn!(target: "kube_runtime::watcher", "forbidden");
        });
        assert_eq!(lines.lines().count(), 1, "{lines}");
        assert!(lines.contains("stale"), "{lines}");
    }

    #[test]
    fn what_others_repeat_is_left_out_unless_it_is_named() {
        let shown = |wanted: &str| filter(Some(wanted), "info").0.to_string();
        assert!(shown("debug").contains(QUIET));
        assert!(!shown("info,kube_runtime::watcher=debug").contains(QUIET));
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_told_and_the_default_holds() {
        let (filter, problem) = filter(Some("info=what"), "warn");
        assert!(filter.to_string().contains("warn"), "{filter}");
        assert!(problem.is_some());
        assert!(super::filter(Some("debug"), "warn").1.is_none());
    }
}
