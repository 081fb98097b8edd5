//! Reads a scenario: files, documents and copies.

use super::behaviour::{self, Behaviour};
use super::documents::{Document, split};
use super::kinds::{self, Kind, Known};
use super::lives::{self, Appearance, Name, Origin};
use super::model::{Entry, Played, Scenario};
use super::problems::{Place, Problems, ScenarioError};
use super::schema;
use muster_api::convert::Reading;
use muster_api::kinds::Kind as Watched;
use muster_api::yaml::short;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A file that has been read.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name, for messages.
    pub name: String,
    /// Its text.
    pub text: String,
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
    let (mut entries, mut problems) = (loader.entries, loader.problems);
    lives::tell_apart(loader.names, &mut entries, &mut problems);
    // So what is deleted at a time makes way for what is created then under its name.
    entries.sort_by_key(|entry| entry.at);
    Ok(Scenario {
        reading: reading.clone(),
        entries,
        warnings: problems.finish()?,
        ..Scenario::default()
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
                complete(&mut object, known);
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

struct Loader<'a> {
    reading: &'a Reading,
    problems: Problems,
    names: BTreeMap<Name, Vec<Appearance<'a>>>,
    /// Schemas by API version and kind.
    schemas: BTreeMap<(String, String), Value>,
    /// Kinds without effect of which that was said.
    inert: BTreeSet<String>,
    /// The list of all kinds was shown.
    listed_kinds: bool,
    entries: Vec<Entry>,
}

impl<'a> Loader<'a> {
    fn document(&mut self, document: &Document<'a>) {
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

    fn object(&mut self, document: &Document<'a>, mut object: Value) {
        let place = document.place();
        let known = match head(&object) {
            Ok(known) => known,
            Err(message) => return self.bad_head(&place, &message),
        };
        let title = title(&object);
        if !self.fits(document, &object, known, &title) {
            return;
        }
        if known.kind == Kind::Inert && self.inert.insert(object["kind"].to_string()) {
            let message = format!("{title}: this kind has no effect in this version");
            self.problems.warn(&place, message);
        }
        complete(&mut object, known);
        self.copies(&Rc::new(Origin {
            document: *document,
            known,
            title,
            value: object,
        }));
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

    fn copies(&mut self, origin: &Rc<Origin<'a>>) {
        let added = match behaviour::replicas(&origin.value) {
            Ok(None) => self.add(origin, &origin.value, None),
            Ok(Some(count)) => (0..count).try_for_each(|index| {
                let copy = behaviour::stamp(&origin.value, index);
                self.add(origin, &copy, Some(index))
            }),
            Err(message) => Err(message),
        };
        if let Err(message) = added {
            let place = origin.document.subject(&message);
            let title = &origin.title;
            self.problems.error(&place, format!("{title}: {message}"));
        }
    }

    fn add(
        &mut self,
        origin: &Rc<Origin<'a>>,
        value: &Value,
        copy: Option<usize>,
    ) -> Result<(), String> {
        let behaviour = Behaviour::of(value)?;
        let object = origin.known.object(value, &behaviour, self.reading)?;
        let appears = Appearance {
            origin: Rc::clone(origin),
            copy,
            at: behaviour.at,
            delete_at: behaviour.delete_at,
            entry: object.is_some().then_some(self.entries.len()),
        };
        if let Some(Played::Job(job)) = &object {
            for pod in &job.pods {
                let key = &pod.spec.key;
                let name = ("v1 Pod".to_owned(), key.namespace.clone(), key.name.clone());
                let entry = None;
                let appears = appears.clone();
                self.note(name, Appearance { entry, ..appears });
            }
        }
        self.note(name_of(value), appears);
        self.entries.extend(object.map(|object| Entry {
            at: behaviour.at,
            delete_at: behaviour.delete_at,
            kept: false,
            object,
        }));
        Ok(())
    }

    fn note(&mut self, name: Name, appears: Appearance<'a>) {
        self.names.entry(name).or_default().push(appears);
    }
}

/// The object's kind, if what every object must have is there.
fn head(object: &Value) -> Result<&'static Known, String> {
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
fn complete(object: &mut Value, known: &Known) {
    if known.is_namespaced && object["metadata"]["namespace"].is_null() {
        object["metadata"]["namespace"] = json!("default");
    }
    let status = &object["status"];
    let is_node = known.kind == Kind::Watched(Watched::Nodes);
    if is_node && status["allocatable"].is_null() && !status["capacity"].is_null() {
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
