//! What `--html` writes: the day as one page that needs nothing from outside.
//!
//! The page is a template with the style, the script and the data put in; the data is JSON, and
//! what tenants may choose (names, messages) is only ever shown as text.

mod counts;
mod curves;
mod data;
mod places;
mod queues;
mod rows;

use super::driver::Driver;
use super::picture::Subject;
use super::report::Report;
use data::data;

/// The page, with places for the style, the data and the script, in this order.
const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPTS: [&str; 5] = [
    include_str!("model.js"),
    include_str!("paint.js"),
    include_str!("gangs.js"),
    include_str!("cluster.js"),
    include_str!("page.js"),
];

/// What a page of something that goes on has beside these, and what it may ask for it.
const LIVE_SCRIPT: &str = include_str!("live.js");
const ASKS_NOTHING: &str = "default-src 'none';";
const ASKS_ITS_SERVER: &str = "default-src 'none'; connect-src 'self';";

/// The page of what was played. It is empty of bars and curves where the driver took no story down.
#[must_use]
pub fn page(driver: &Driver, report: &Report, subject: &Subject) -> String {
    let json = serde_json::to_string(&data(driver, report, subject)).unwrap_or_default();
    assemble(&escaped(&json), TEMPLATE, &SCRIPTS.concat())
}

/// The same of what goes on: whoever looks at it at its server has it drawn anew every second.
#[must_use]
pub fn live_page(driver: &Driver, report: &Report, subject: &Subject) -> String {
    let mut data = data(driver, report, subject);
    data.live = true;
    let json = serde_json::to_string(&data).unwrap_or_default();
    assemble(&escaped(&json), &live_template(), &live_scripts())
}

fn live_template() -> String {
    TEMPLATE.replacen(ASKS_NOTHING, ASKS_ITS_SERVER, 1)
}

/// The last script begins to draw, so this one is before it.
fn live_scripts() -> String {
    let [.., last] = SCRIPTS;
    let before = SCRIPTS[..SCRIPTS.len() - 1].concat();
    [&before, LIVE_SCRIPT, last].concat()
}

fn assemble(data: &str, template: &str, script: &str) -> String {
    let (before_style, rest) = parted(template, "/* STYLE */");
    let (before_data, rest) = parted(rest, "DATA");
    let (before_script, after) = parted(rest, "/* SCRIPT */");
    [
        before_style,
        STYLE,
        before_data,
        data,
        before_script,
        script,
        after,
    ]
    .concat()
}

fn parted<'a>(text: &'a str, at: &str) -> (&'a str, &'a str) {
    text.split_once(at).unwrap_or((text, ""))
}

/// JSON that may stand inside a script element: nothing in it begins or ends a tag. These
/// characters only occur in its strings.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for one in json.chars() {
        match one {
            '<' => text += "\\u003c",
            '>' => text += "\\u003e",
            '&' => text += "\\u0026",
            '\u{2028}' => text += "\\u2028",
            '\u{2029}' => text += "\\u2029",
            _ => text.push(one),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_the_data() {
        let hostile = "</script><script>alert(1)</script><!--&\u{2028}";
        let json = serde_json::to_string(hostile).unwrap();
        let safe = escaped(&json);
        assert!(!safe.contains(['<', '>', '&', '\u{2028}']), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), hostile);
    }

    #[test]
    fn data_that_looks_like_a_place_in_the_template_is_left_alone() {
        let page = assemble("/* SCRIPT */ DATA", TEMPLATE, &SCRIPTS.concat());
        assert_eq!(page.matches("/* SCRIPT */ DATA").count(), 1);
        assert!(page.contains(SCRIPTS[0]) && page.contains(STYLE));
        assert!(page.ends_with("</html>\n"));
    }

    #[test]
    fn a_page_of_what_goes_on_asks_its_own_server_alone() {
        let page = assemble("{}", &live_template(), &live_scripts());
        assert!(page.contains(
            "content=\"default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\""
        ));
        assert_eq!(page.matches("fetch('/healthz'").count(), 1);
        assert_eq!(page.matches("fetch(").count(), 1);
        let (live, begins) = (page.find("function setUpLive"), page.rfind("begin();"));
        assert!(live.is_some() && live < begins);
    }

    #[test]
    fn nothing_is_asked_of_the_network() {
        let page = assemble("{}", TEMPLATE, &SCRIPTS.concat());
        let words = [
            "http:",
            "https:",
            "//",
            "url(",
            "@import",
            "fetch(",
            "XMLHttpRequest",
            "src=",
            "href=",
            "innerHTML",
            "eval(",
        ];
        for word in words {
            assert!(!page.contains(word), "{word}");
        }
        assert!(page.contains(
            "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\""
        ));
    }
}
