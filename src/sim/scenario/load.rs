//! Reads a scenario: files, documents, copies, and what may not be said twice.

use super::behaviour::{self, Behaviour};
use super::documents::{Document, split};
use super::kinds::{self, Kind, Known};
use super::model::{Entry, Object, Scenario};
use super::path::Path;
use super::problems::{Place, Problems, ScenarioError};
use super::schema;
use crate::api::convert::Reading;
use crate::api::yaml::{self, short};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::PathBuf;

/// A file that has been read.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name, for messages.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Reads a scenario from files; `-` is standard input.
///
/// # Errors
/// When a file cannot be read, or something in it is wrong.
pub fn load_files(files: &[PathBuf], reading: &Reading) -> Result<Scenario, ScenarioError> {
    let read = |path: &PathBuf| {
        let file = path.display().to_string();
        let bytes = if file == "-" {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
        } else {
            std::fs::read(path)
        };
        match bytes.map(yaml::text) {
            Ok(Ok(text)) => Ok(Source { name: file, text }),
            Ok(Err(wrong)) => Err(ScenarioError::Wrong(vec![format!("{file}:{wrong}")])),
            Err(error) => Err(ScenarioError::Unreadable { file, error }),
        }
    };
    let sources = files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    load(&sources, reading)
}

/// Reads a scenario from texts.
///
/// # Errors
/// When something in them is wrong.
pub fn load(sources: &[Source], reading: &Reading) -> Result<Scenario, ScenarioError> {
    let mut loader = Loader {
        reading,
        problems: Problems::default(),
        names: BTreeMap::new(),
        schemas: BTreeMap::new(),
        inert: BTreeSet::new(),
        listed_kinds: false,
        entries: Vec::new(),
    };
    for source in sources {
        let documents = split(&source.name, &source.text);
        if documents.is_empty() {
            let place = Place::start(&source.name);
            loader.problems.error(&place, "there is no object in it");
        }
        for document in documents {
            loader.document(&document);
        }
    }
    let warnings = loader.problems.finish()?;
    Ok(Scenario {
        entries: loader.entries,
        warnings,
    })
}

/// The objects of a scenario one by one, copies stamped, as an API server would be given them.
///
/// # Errors
/// When something in the texts is wrong.
pub fn stamped(sources: &[Source], reading: &Reading) -> Result<Vec<Value>, ScenarioError> {
    load(sources, reading)?;
    let mut objects = Vec::new();
    for source in sources {
        for document in split(&source.name, &source.text) {
            let Ok(mut object) = document.value() else {
                continue;
            };
            if let Ok(known) = head(&object) {
                complete(&mut object, known.kind);
            }
            match behaviour::replicas(&object) {
                Ok(Some(count)) => {
                    objects.extend((0..count).map(|index| behaviour::stamp(&object, index)));
                }
                _ => objects.push(object),
            }
        }
    }
    Ok(objects)
}

/// API version and kind, namespace, name.
type Name = (String, String, String);

struct Loader<'a> {
    reading: &'a Reading,
    problems: Problems,
    names: BTreeMap<Name, Place>,
    /// Schemas by API version and kind.
    schemas: BTreeMap<(String, String), Value>,
    /// Kinds without effect of which that was said.
    inert: BTreeSet<String>,
    /// The list of all kinds was shown.
    listed_kinds: bool,
    entries: Vec<Entry>,
}

impl Loader<'_> {
    fn document(&mut self, document: &Document<'_>) {
        let value = match document.value() {
            Ok(value) => value,
            Err((place, message)) => return self.problems.error(&place, message),
        };
        let is_list = value["kind"] == "List" && value["apiVersion"] == "v1";
        if !is_list {
            return self.object(document, value);
        }
        match &value["items"] {
            Value::Array(items) => {
                let places = document.items();
                for (number, item) in items.iter().enumerate() {
                    let place = places.get(number).unwrap_or(document);
                    self.object(place, item.clone());
                }
            }
            _ => self
                .problems
                .error(&document.place(), "a List without a list of items"),
        }
    }

    fn object(&mut self, document: &Document<'_>, mut object: Value) {
        let place = document.place();
        let known = match head(&object) {
            Ok(known) => known,
            Err(message) => return self.bad_head(&place, &message),
        };
        let title = title(&object);
        if !self.fits(document, &object, &known, &title) {
            return;
        }
        let kind = known.kind;
        if kind == Kind::Inert && self.inert.insert(object["kind"].to_string()) {
            let message = format!("{title}: this kind has no effect in this version");
            self.problems.warn(&place, message);
        }
        complete(&mut object, kind);
        self.copies(document, &object, kind, &title);
    }

    /// The list of all kinds is long: it is shown once.
    fn bad_head(&mut self, place: &Place, message: &str) {
        let cut = message.find(kinds::KNOWN_KINDS);
        let end = cut.filter(|_| self.listed_kinds).unwrap_or(message.len());
        self.problems.error(place, &message[..end]);
        self.listed_kinds |= cut.is_some();
    }

    /// Checks an object against the schema of its type; warns of fields that are not known.
    fn fits(
        &mut self,
        document: &Document<'_>,
        object: &Value,
        known: &Known,
        title: &str,
    ) -> bool {
        let name = (object["apiVersion"].to_string(), object["kind"].to_string());
        let root = self.schemas.entry(name).or_insert_with(known.schema);
        let findings = schema::check(object, root);
        for path in findings.unknown {
            let place = document.place_of(&path);
            let message = format!("{title}: field {path} is not known and has no effect");
            self.problems.warn(&place, message);
        }
        for (path, problem) in &findings.wrong {
            let place = document.place_of(path);
            self.problems
                .error(&place, format!("{title}: {path}: {problem}"));
        }
        findings.wrong.is_empty()
    }

    fn copies(&mut self, document: &Document<'_>, object: &Value, kind: Kind, title: &str) {
        let place = &document.place();
        let added = match behaviour::replicas(object) {
            Ok(None) => self.add(object, kind, place),
            Ok(Some(count)) => (0..count).try_for_each(|index| {
                let copy = behaviour::stamp(object, index);
                self.add(&copy, kind, place)
            }),
            Err(message) => Err(message),
        };
        if let Err(message) = added {
            let place = subject(document, &message);
            self.problems.error(&place, format!("{title}: {message}"));
        }
    }

    fn add(&mut self, value: &Value, kind: Kind, place: &Place) -> Result<(), String> {
        let behaviour = Behaviour::of(value)?;
        self.claim(name_of(value), place)?;
        let Some(object) = kind.object(value, &behaviour, self.reading)? else {
            return Ok(());
        };
        if let Object::Job(job) = &object {
            for pod in &job.pods {
                let key = &pod.spec.key;
                let name = (key.namespace.clone(), key.name.clone());
                self.claim(("v1 Pod".to_owned(), name.0, name.1), place)?;
            }
        }
        self.entries.push(Entry {
            at: behaviour.at,
            delete_at: behaviour.delete_at,
            object,
        });
        Ok(())
    }

    fn claim(&mut self, name: Name, place: &Place) -> Result<(), String> {
        if let Some(first) = self.names.get(&name) {
            return Err(format!(
                "the name {:?} is taken by the one at {first}",
                name.2
            ));
        }
        self.names.insert(name, place.clone());
        Ok(())
    }
}

/// Where stands what a message is about: the field whose path it begins with, else the object.
fn subject(document: &Document<'_>, message: &str) -> Place {
    let path = message.split_once(": ").map_or("", |(path, _)| path);
    if path.contains(' ') {
        return document.place();
    }
    if path.starts_with(behaviour::PREFIX) {
        return document.place_of(&Path::read("metadata.annotations").join(path));
    }
    document.place_of(&Path::read(path))
}

/// The object's kind, if what every object must have is there.
fn head(object: &Value) -> Result<Known, String> {
    if !object.is_object() {
        return Err("not an object with apiVersion, kind and metadata".to_owned());
    }
    let text = |value: &Value, field: &str| match value {
        Value::String(text) if !text.is_empty() => Ok(text.clone()),
        Value::Null => Err(format!("{field} is missing")),
        other => Err(format!(
            "{field} is {}, not a text",
            short(&other.to_string())
        )),
    };
    let kind = text(&object["kind"], "kind")?;
    let api_version = text(&object["apiVersion"], "apiVersion")?;
    let known = kinds::find(&api_version, &kind)?;
    text(&object["metadata"]["name"], "metadata.name")?;
    Ok(known)
}

/// What it is called in messages.
fn title(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = short(&text(&object["metadata"]["name"]));
    let kind = text(&object["kind"]);
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{kind} {}/{name}", short(namespace)),
        None => format!("{kind} {name}"),
    }
}

/// Fills in what the API server would: the namespace, and what a node can allocate.
fn complete(object: &mut Value, kind: Kind) {
    if kind.is_namespaced() && object["metadata"]["namespace"].is_null() {
        object["metadata"]["namespace"] = json!("default");
    }
    let status = &object["status"];
    if kind == Kind::Node && status["allocatable"].is_null() && !status["capacity"].is_null() {
        let capacity = status["capacity"].clone();
        object["status"]["allocatable"] = capacity;
    }
}

fn name_of(object: &Value) -> Name {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    (
        format!("{} {}", text(&object["apiVersion"]), text(&object["kind"])),
        text(&metadata["namespace"]),
        text(&metadata["name"]),
    )
}
