//! The YAML documents of a file, which remember their lines.

use super::behaviour::PREFIX;
use super::path::Path;
use super::problems::Place;
use muster_api::yaml;
use serde_json::Value;

/// One YAML document of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Document<'a> {
    /// The file's name, as given.
    pub(super) file: &'a str,
    /// The line of the file its text begins with, from 1.
    first_line: usize,
    text: &'a str,
    form: Form,
}

/// How a document is written.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// By itself.
    Yaml,
    /// As the item of a list.
    Item,
    /// As a line of a snapshot.
    Json,
}

/// A text of more bytes is long.
const LONG: usize = 1 << 20;

/// The documents of a file that contain anything.
pub(super) fn split<'a>(file: &'a str, text: &'a str) -> Vec<Document<'a>> {
    let document = |(first_line, text)| Document {
        file,
        first_line,
        text,
        form: Form::Yaml,
    };
    yaml::documents(text).into_iter().map(document).collect()
}

/// The objects of a snapshot.
pub(super) fn of_snapshot<'a>(file: &'a str, objects: Vec<(usize, &'a str)>) -> Vec<Document<'a>> {
    let document = |(first_line, text)| Document {
        file,
        first_line,
        text,
        form: Form::Json,
    };
    objects.into_iter().map(document).collect()
}

impl Document<'_> {
    /// Whether only what is read of the object is in it.
    pub(super) const fn is_reduced(&self) -> bool {
        matches!(self.form, Form::Json)
    }

    /// The first line that is neither empty nor a comment.
    pub(super) fn place(&self) -> Place {
        let blank = |line: &&str| line.trim().is_empty() || line.trim().starts_with('#');
        let skipped = self.text.lines().take_while(blank).count();
        self.line(skipped)
    }

    fn line(&self, index: usize) -> Place {
        Place {
            file: self.file.to_owned(),
            line: self.first_line + index,
            column: None,
        }
    }

    /// The document as plain data.
    pub(super) fn value(&self) -> Result<Value, (Place, String)> {
        let value = match self.form {
            Form::Json => serde_json::from_str(self.text).map_err(|error| yaml::Wrong {
                line: 1,
                column: error.column().max(1),
                message: "this line of a snapshot is no JSON object".to_owned(),
            }),
            Form::Yaml => yaml::read(self.text),
            Form::Item => yaml::read(self.text).map(|[item]: [Value; 1]| item),
        };
        value.map_err(|wrong| {
            let mut place = self.line(wrong.line - 1);
            place.column = Some(wrong.column);
            (place, wrong.message)
        })
    }

    /// A List and its items, where these are written in lines of their own, as kubectl does it: what stands beside
    /// the items, and each item as a document.
    pub(super) fn listed(&self) -> Option<(Value, Vec<Self>)> {
        let mut starts = Vec::new();
        let (mut offset, mut head_end, mut dash, mut end) = (0, None, None, None);
        for (index, line) in self.text.split_inclusive('\n').enumerate() {
            let written = line.trim();
            let depth = line.len() - line.trim_start().len();
            let is_item = written.starts_with("- ") || written == "-";
            let is_blank = written.is_empty() || written.starts_with('#');
            if head_end.is_none() {
                head_end = (line.trim_end() == "items:").then_some(offset);
            } else if is_item && *dash.get_or_insert(depth) == depth {
                starts.push((offset, index));
            } else if !is_blank && dash.is_none_or(|dash| depth <= dash) {
                end = Some(offset);
                break;
            }
            offset += line.len();
        }
        let end = end.unwrap_or(self.text.len());
        let head = [&self.text[..head_end?], &self.text[end..]].concat();
        let head: Value = yaml::read(&head).ok()?;
        let ends = starts.iter().skip(1).map(|(start, _)| *start);
        let ends: Vec<usize> = ends.chain([end]).collect();
        let spans = starts.into_iter().zip(ends);
        let item = |((start, lines), end)| Self {
            file: self.file,
            first_line: self.first_line + lines,
            text: &self.text[start..end],
            form: Form::Item,
        };
        Some((head, spans.map(item).collect()))
    }

    /// Whether it is so long that its items are better read one by one.
    pub(super) const fn is_long(&self) -> bool {
        self.text.len() > LONG
    }

    /// Where stands what a message is about: the field whose path it begins with, else the object.
    pub(super) fn subject(&self, message: &str) -> Place {
        let path = message.split_once(": ").map_or("", |(path, _)| path);
        if path.contains(' ') {
            return self.place();
        }
        if path.starts_with(PREFIX) {
            return self.place_of(&Path::read("metadata.annotations").join(path));
        }
        self.place_of(&Path::read(path))
    }

    /// Where the field of this path stands, as nearly as its keys tell: the path is followed line
    /// by line, and the last key found counts.
    pub(super) fn place_of(&self, path: &Path) -> Place {
        let mut place = self.place();
        let mut lines = self.text.lines().enumerate();
        for key in path.keys() {
            let has_key = |line: &str| {
                let line = line.trim_start().trim_start_matches("- ");
                let line = line.trim_start().trim_start_matches(['"', '\'']);
                line.strip_prefix(key)
                    .is_some_and(|rest| rest.trim_start_matches(['"', '\'']).starts_with(':'))
            };
            match lines.find(|(_, line)| has_key(line)) {
                Some((index, line)) => {
                    place = self.line(index);
                    place.column = line.find(key).map(|column| column + 1);
                }
                None => return place,
            }
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# a comment\n---\nkind: A\n---  # said\n\n# only this\n--- {kind: B}\n...\n---\nkind: C\ntext: |\n  --- no marker\n";

    #[test]
    fn documents_are_split_at_markers_and_know_their_lines() {
        let found = split("f.yaml", TEXT);
        let kinds: Vec<(usize, Value)> = found
            .iter()
            .map(|document| {
                (
                    document.place().line,
                    document.value().unwrap()["kind"].clone(),
                )
            })
            .collect();
        assert_eq!(kinds, [(3, "A".into()), (7, "B".into()), (10, "C".into())]);
    }

    #[test]
    fn errors_are_placed_in_the_file() {
        let text = "kind: A\n---\nkind: B\nbad: [1, 2\nmore: x\n";
        let documents = split("f.yaml", text);
        let (place, message) = documents[1].value().unwrap_err();
        assert!((4..=6).contains(&place.line), "{place}: {message}");
        assert!(place.column.is_some());
        assert!(!message.contains(" line "), "{message}");
    }

    #[test]
    fn a_field_is_found_by_its_path() {
        let text = "\n---\nkind: Pod\nspec:\n  a: 1\n  containers:\n  - name: x\n    typo: 1\n";
        let document = split("f.yaml", text)[0];
        let line_of = |path| document.place_of(&Path::read(path)).line;
        assert_eq!(line_of("spec.containers.0.typo"), 8);
        assert_eq!(line_of("spec.containers"), 6);
    }

    #[test]
    fn an_item_of_a_list_is_placed_where_it_stands() {
        let text = "---\nkind: List\nitems:\n- kind: A\n  x:\n  - 1\n- kind: B\n  y: 1\n";
        let document = split("f.yaml", text)[0];
        let (head, items) = document.listed().unwrap();
        assert_eq!(head["kind"], "List");
        let lines: Vec<usize> = items.iter().map(|item| item.place().line).collect();
        assert_eq!(lines, [4, 7]);
        assert_eq!(items[1].place_of(&Path::read("y")).line, 8);
        assert_eq!(items[0].value().unwrap()["x"][0], 1);
    }

    #[test]
    fn the_items_of_a_list_are_read_one_by_one_as_they_are_together() {
        for text in [
            "apiVersion: v1\nitems:\n- kind: A\n  x:\n  - 1\n\n# said\n- kind: B\n  t: |\n    - a\n    items:\nkind: List\n",
            "kind: List\nitems:\n  - kind: A\n  -\n    kind: B\napiVersion: v1\nmetadata:\n  resourceVersion: \"\"\n",
        ] {
            let document = split("f.yaml", text)[0];
            let whole = document.value().unwrap();
            let (mut head, items) = document.listed().unwrap();
            let items = items.iter().map(|item| item.value().unwrap());
            head["items"] = items.collect();
            assert_eq!(head, whole);
        }
        let places = split("f.yaml", "kind: List\nitems:\n- kind: A\n- kind: [\n");
        let (_, items) = places[0].listed().unwrap();
        let (place, _) = items[1].value().unwrap_err();
        assert_eq!(place.line, 4);
    }
}
