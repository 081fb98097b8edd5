//! Reads a scenario: files, documents and copies.

use super::behaviour::{self, Behaviour};
use super::documents::{Document, of_snapshot, split};
use super::dumped::{self, Choices, Dump};
use super::kinds::{self, Kind, Known};
use super::lives::{self, Appearance, Name, Origin};
use super::model::{Entry, Played, Scenario};
use super::problems::{Place, Problems, ScenarioError};
use super::schema;
use muster_api::convert::Reading;
use muster_api::kinds::Kind as Watched;
use muster_api::snapshot;
use muster_api::yaml::short;
use muster_model::units::Time;
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
    load_by(sources, &[], reading, &Choices::default())
}

/// The same, by choices of how objects of a cluster are read, and with edits: an object of an edit is laid over the one
/// of its name, or is one more.
///
/// # Errors
/// When something in them is wrong.
pub fn load_by(
    sources: &[Source],
    edits: &[Source],
    reading: &Reading,
    choices: &Choices,
) -> Result<Scenario, ScenarioError> {
    let mut loader = Loader {
        reading,
        choices,
        problems: Problems::default(),
        names: BTreeMap::new(),
        inert: BTreeSet::new(),
        listed_kinds: false,
        entries: Vec::new(),
        dump: Dump::default(),
        overlays: BTreeMap::new(),
    };
    loader.read(edits, Loader::overlay);
    loader.read(sources, Loader::object);
    loader.add_overlays();
    let (mut entries, mut problems) = (loader.entries, loader.problems);
    lives::tell_apart(loader.names, &mut entries, &mut problems);
    let mut dump = loader.dump;
    if dump.is_empty() && choices.now.is_some() {
        return Err(ScenarioError::Wrong(vec![NO_AGES.to_owned()]));
    }
    let begin = dump.begin(choices);
    for entry in &mut entries {
        entry.at = begin + entry.at.since(Time::ZERO);
        let delete_at = entry.delete_at.map(|at| begin + at.since(Time::ZERO));
        entry.delete_at = delete_at;
    }
    dump.settle(&mut entries, begin, choices);
    // So what is deleted at a time makes way for what is created then under its name.
    entries.sort_by_cached_key(|entry| (entry.at, dumped::turn(entry)));
    Ok(Scenario {
        reading: reading.clone(),
        begin,
        entries,
        notes: dump.notes(begin, choices),
        node_uids: dump.node_uids,
        warnings: problems.finish()?,
    })
}

const NO_AGES: &str = "--now: it says how old objects of a cluster are, and none is played";

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

/// The objects of files as they are written, those of lists one by one. What cannot be read is left out.
#[must_use]
pub fn written(sources: &[Source]) -> Vec<Value> {
    let mut objects = Vec::new();
    for source in sources {
        let documents = match snapshot::contents(&source.text) {
            Some(Ok(contents)) => of_snapshot(&source.name, contents.objects),
            Some(Err(_)) => continue,
            None => split(&source.name, &source.text),
        };
        for document in documents {
            let Ok(mut value) = document.value() else {
                continue;
            };
            match List::of(&value) {
                Some(list) => {
                    if let Value::Array(items) = value["items"].take() {
                        objects.extend(items.into_iter().map(|item| list.item(item)));
                    }
                }
                None => objects.push(value),
            }
        }
    }
    objects
}

struct Loader<'a> {
    reading: &'a Reading,
    choices: &'a Choices,
    problems: Problems,
    names: BTreeMap<Name, Vec<Appearance<'a>>>,
    /// Kinds without effect of which that was said.
    inert: BTreeSet<String>,
    /// The list of all kinds was shown.
    listed_kinds: bool,
    entries: Vec<Entry>,
    /// What was learnt of objects of a cluster.
    dump: Dump<'a>,
    /// What is to be laid over objects.
    overlays: BTreeMap<Name, Vec<Overlay<'a>>>,
}

/// An object of an edit.
struct Overlay<'a> {
    document: Document<'a>,
    value: Value,
    /// There was something to lay it over.
    used: bool,
}

/// Takes an object that stands in a document.
type Take<'a> = fn(&mut Loader<'a>, &Document<'a>, Value);

impl<'a> Loader<'a> {
    fn read(&mut self, sources: &'a [Source], take: Take<'a>) {
        for source in sources {
            let documents = match snapshot::contents(&source.text) {
                Some(Ok(contents)) => {
                    self.dump.was_taken_at(&contents.taken_at);
                    of_snapshot(&source.name, contents.objects)
                }
                Some(Err(error)) => {
                    let place = Place::start(&source.name);
                    self.problems.error(&place, error);
                    continue;
                }
                None => split(&source.name, &source.text),
            };
            if documents.is_empty() {
                let place = Place::start(&source.name);
                self.problems.error(&place, "there is no object in it");
            }
            for document in documents {
                self.document(&document, take);
            }
        }
    }

    fn document(&mut self, document: &Document<'a>, take: Take<'a>) {
        if document.is_long()
            && let Some((head, items)) = document.listed()
            && let Some(list) = List::of(&head)
        {
            for item in items {
                match item.value() {
                    Ok(value) => take(self, &item, list.item(value)),
                    Err((place, message)) => self.problems.error(&place, message),
                }
            }
            return;
        }
        let mut value = match document.value() {
            Ok(value) => value,
            Err((place, message)) => return self.problems.error(&place, message),
        };
        let Some(list) = List::of(&value) else {
            return take(self, document, value);
        };
        match value["items"].take() {
            Value::Array(items) => {
                let places = document.listed().map_or_else(Vec::new, |(_, items)| items);
                for (number, item) in items.into_iter().enumerate() {
                    let place = places.get(number).unwrap_or(document);
                    take(self, place, list.item(item));
                }
            }
            _ => self
                .problems
                .error(&document.place(), "a List without a list of items"),
        }
    }

    /// An object of an edit.
    fn overlay(&mut self, document: &Document<'a>, mut value: Value) {
        let known = match head(&value) {
            Ok(known) => known,
            Err(message) => return self.bad_head(&document.place(), &message),
        };
        complete(&mut value, known);
        let overlay = Overlay {
            document: *document,
            value,
            used: false,
        };
        let name = name_of(&overlay.value);
        self.overlays.entry(name).or_default().push(overlay);
    }

    /// Lays over an object what is to be; returns later edits of it.
    fn lay_over(&mut self, object: &mut Value) -> Vec<(Document<'a>, Value)> {
        let mut later = Vec::new();
        let overlays = self.overlays.get_mut(&name_of(object));
        for overlay in overlays.into_iter().flatten() {
            // Copies have names of their own.
            if !matches!(behaviour::replicas(&overlay.value), Ok(None)) {
                continue;
            }
            overlay.used = true;
            let at = Behaviour::of(&overlay.value).map(|one| one.at);
            if at.is_ok_and(|at| at > Time::ZERO) {
                let mut edited = object.clone();
                json_patch::merge(&mut edited, &overlay.value);
                later.push((overlay.document, edited));
            } else {
                json_patch::merge(object, &overlay.value);
            }
        }
        later
    }

    /// What was laid over nothing is an object more.
    fn add_overlays(&mut self) {
        let overlays = std::mem::take(&mut self.overlays).into_values().flatten();
        for overlay in overlays.filter(|overlay| !overlay.used) {
            self.add_object(&overlay.document, overlay.value, false);
        }
    }

    /// An object of what is played, and what is laid over it.
    fn object(&mut self, document: &Document<'a>, mut object: Value) {
        let mut later = Vec::new();
        if !self.overlays.is_empty()
            && let Ok(known) = head(&object)
        {
            complete(&mut object, known);
            later = self.lay_over(&mut object);
        }
        let is_as_written = later.is_empty() && self.overlays.is_empty();
        self.add_object(document, object, is_as_written);
        for (document, edited) in later {
            self.add_object(&document, edited, false);
        }
    }

    /// An object, which can be read again in its document if it is as it is written there.
    fn add_object(&mut self, document: &Document<'a>, mut object: Value, is_as_written: bool) {
        let place = document.place();
        let is_dumped = dumped::uid(&object).is_some() && !self.choices.strict;
        let known = match head(&object) {
            Ok(known) if is_dumped && known.kind == Kind::Inert => {
                return self.dump.pass_over(&object);
            }
            Ok(known) => known,
            Err(_) if is_dumped && is_of_other_kind(&object) => {
                return self.dump.pass_over(&object);
            }
            Err(message) => return self.bad_head(&place, &message),
        };
        let title = title(&object);
        if !document.is_reduced() && !self.fits(document, &object, known, &title) {
            return;
        }
        if known.kind == Kind::Inert && self.inert.insert(object["kind"].to_string()) {
            let message = format!("{title}: this kind has no effect in this version");
            self.problems.warn(&place, message);
        }
        complete(&mut object, known);
        let uid = dumped::uid(&object).map(str::to_owned);
        // There may be very many.
        let read_again = is_as_written && uid.is_some();
        let (kept, read) = if read_again {
            (None, Some(object))
        } else {
            (Some(object), None)
        };
        let origin = Rc::new(Origin {
            document: *document,
            known,
            title,
            uid,
            value: kept,
        });
        if let Some(value) = read.as_ref().or(origin.value.as_ref()) {
            self.copies(&origin, value);
        }
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
        known: &'static Known,
        title: &str,
    ) -> bool {
        let mut findings = schema::check(object, known.schema());
        let is_dumped = dumped::uid(object).is_some() && !self.choices.strict;
        for path in findings.unknown {
            if is_dumped {
                let kind = object["kind"].as_str().unwrap_or_default();
                self.dump.pass_over_field(kind, &path.to_string());
                continue;
            }
            let place = document.place_of(&path);
            let message = format!("{title}: field {path} is not known and has no effect");
            self.problems.warn(&place, message);
        }
        // What an API server has is whole by the version of that one.
        let missing = findings.missing.into_iter().filter(|_| !is_dumped);
        let missing = missing.map(|path| (path, "nothing, but it is required".to_owned()));
        findings.wrong.extend(missing);
        for (path, problem) in &findings.wrong {
            let place = document.place_of(path);
            self.problems
                .error(&place, format!("{title}: {path}: {problem}"));
        }
        findings.wrong.is_empty()
    }

    fn copies(&mut self, origin: &Rc<Origin<'a>>, value: &Value) {
        let added = match behaviour::replicas(value) {
            Ok(None) => self.add(origin, value, None),
            Ok(Some(count)) => (0..count).try_for_each(|index| {
                let copy = behaviour::stamp(value, index);
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
        let mut object = origin.known.object(value, &behaviour, self.reading)?;
        let kept = dumped::uid(value).is_some() && behaviour.at == Time::ZERO;
        if kept {
            let same = |one: &Appearance<'_>| one.origin.uid == origin.uid;
            let before = self.names.get(&name_of(value));
            if before.is_some_and(|before| before.iter().any(same)) {
                self.dump.again();
                return Ok(());
            }
            if let Some(object) = &mut object {
                let entry = self.entries.len();
                self.dump
                    .note(entry, origin.document, value, &origin.title, object);
            }
        }
        let appears = Appearance {
            origin: Rc::clone(origin),
            copy,
            at: behaviour.at,
            delete_at: behaviour.delete_at,
            entry: object.is_some().then_some(self.entries.len()),
        };
        if let Some(Played::Job(job)) = object.as_ref().filter(|_| !kept) {
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
            kept,
            object,
        }));
        Ok(())
    }

    fn note(&mut self, name: Name, appears: Appearance<'a>) {
        self.names.entry(name).or_default().push(appears);
    }
}

/// A list of objects: a `v1` List, or one of a kind, whose items need not say it again.
struct List {
    of: Option<(Value, String)>,
}

impl List {
    fn of(head: &Value) -> Option<Self> {
        let kind = head["kind"].as_str()?;
        if kind == "List" && head["apiVersion"] == "v1" {
            return Some(Self { of: None });
        }
        let one = kind.strip_suffix("List").filter(|one| !one.is_empty())?;
        let items = &head["items"];
        let is_list = (items.is_array() || items.is_null()) && !kinds::is_name(kind);
        let of = (head["apiVersion"].clone(), one.to_owned());
        is_list.then_some(Self { of: Some(of) })
    }

    fn item(&self, mut item: Value) -> Value {
        if let (Some((version, kind)), Some(fields)) = (&self.of, item.as_object_mut()) {
            fields.entry("apiVersion").or_insert(version.clone());
            fields.entry("kind").or_insert(json!(kind));
        }
        item
    }
}

/// Whether an object is whole but for its kind, which is not known.
fn is_of_other_kind(object: &Value) -> bool {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (kind, version) = (text("kind"), text("apiVersion"));
    !kind.is_empty() && !version.is_empty() && kinds::find(version, kind).is_err()
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
