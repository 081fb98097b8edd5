//! The kinds a scenario may contain, and what each is read as.
//!
//! Objects are checked against the schemas of their full types, so that a typo is noticed even in
//! a field that Muster does not read; then they are read as a watch reads live ones
//! (`api/kinds`).

use super::answers::{self, PluginAnswers};
use super::behaviour::Behaviour;
use super::jobs;
use super::model::{Amount, BudgetPlan, JobPlan, Needed, OnEviction, Played, PodPlan, Run};
use super::schema;
use k8s_openapi::api::batch;
use k8s_openapi::api::core::v1 as core;
use muster_api::convert::{self, Reading};
use muster_api::creation;
use muster_api::kinds::{self, Row, Visitor, Watchable};
use muster_api::yaml::short;
use muster_api::{crd, slim};
use muster_controllers::Resource;
use muster_model::{ClaimKey, ClaimSpec, Object, PodSpec};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

/// A kind that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One that is watched on a cluster.
    Watched(kinds::Kind),
    /// Its pods are made here.
    Job,
    /// What runs on slots.
    BatchJob,
    /// Which of these runs where.
    Scheduling,
    /// Pods that run together.
    QueueJob,
    /// What is answered to plugins.
    Answers,
    /// Read, and without effect in this version.
    Inert,
}

/// A kind, and how its objects are played.
#[derive(Debug)]
pub(super) struct Known {
    api_version: Cow<'static, str>,
    name: Cow<'static, str>,
    pub(super) kind: Kind,
    /// Whether its objects live in a namespace.
    pub(super) is_namespaced: bool,
    schema: Schema,
    made: OnceLock<Value>,
    play: Play,
}

/// Makes the schema of a full type.
type Schema = fn() -> Value;

/// What is played for an object; `None` for kinds without effect.
type Play = fn(&Value, &Behaviour, &Reading) -> Result<Option<Played>, String>;

/// The kinds that are not watched, by API version and name.
#[rustfmt::skip]
const UNWATCHED: &[(&str, &str, Kind, Schema)] = &[
    ("batch/v1", "Job", Kind::Job, schema::of::<batch::v1::Job>),
    ("muster.dev/v1alpha1", "BatchJob", Kind::BatchJob, schema::of::<crd::BatchJob>),
    ("muster.dev/v1alpha1", "Scheduling", Kind::Scheduling, schema::of::<crd::Scheduling>),
    ("muster.dev/v1alpha1", "QueueJob", Kind::QueueJob, schema::of::<crd::QueueJob>),
    ("simulate.muster.dev/v1", "PluginAnswers", Kind::Answers, schema::of::<PluginAnswers>),
    ("v1", "ConfigMap", Kind::Inert, schema::of::<core::ConfigMap>),
    ("v1", "ServiceAccount", Kind::Inert, schema::of::<core::ServiceAccount>),
];

/// All kinds: those that are watched, and the others.
static KINDS: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let mut watched = AllWatched(Vec::new());
    kinds::visit(&mut watched);
    let others = UNWATCHED
        .iter()
        .map(|(api_version, name, kind, schema)| Known {
            api_version: Cow::Borrowed(api_version),
            name: Cow::Borrowed(name),
            kind: *kind,
            // Where what has no effect lives makes no difference.
            is_namespaced: true,
            schema: *schema,
            made: OnceLock::new(),
            play: match kind {
                Kind::Job => job,
                Kind::Answers => plugin_answers,
                Kind::BatchJob => batch_job,
                Kind::Scheduling => scheduling,
                Kind::QueueJob => queue_job,
                _ => nothing,
            },
        });
    watched.0.into_iter().chain(others).collect()
});

/// Collects the kinds that are watched.
struct AllWatched(Vec<Known>);

impl Visitor for AllWatched {
    fn visit<R: Row>(&mut self) {
        self.0.push(Known {
            api_version: R::api_version(&()),
            name: R::kind(&()),
            kind: Kind::Watched(R::KIND),
            is_namespaced: R::is_namespaced(),
            schema: schema::of::<R::Full>,
            made: OnceLock::new(),
            play: watched::<R>,
        });
    }
}

/// What stands before the list of all kinds in a message.
pub(super) const KNOWN_KINDS: &str = "; known kinds: ";

/// Whether there is a kind of this name, whatever its group.
pub(super) fn is_name(kind: &str) -> bool {
    KINDS.iter().any(|known| known.name == kind)
}

/// Looks a kind up.
pub(super) fn find(api_version: &str, kind: &str) -> Result<&'static Known, String> {
    let same_name = || KINDS.iter().filter(|known| known.name == kind);
    if let Some(known) = same_name().find(|known| known.api_version == api_version) {
        return Ok(known);
    }
    let versions: Vec<&str> = same_name().map(|known| &*known.api_version).collect();
    if !versions.is_empty() {
        let (found, versions) = (short(api_version), versions.join(", "));
        return Err(format!(
            "kind {kind} is not known in apiVersion {found:?}; known in: {versions}"
        ));
    }
    let mut names: Vec<&str> = KINDS.iter().map(|known| &*known.name).collect();
    names.sort_unstable();
    names.dedup();
    let one = kind.strip_suffix('s').unwrap_or(kind);
    let same = |name: &&&str| name.eq_ignore_ascii_case(kind) || name.eq_ignore_ascii_case(one);
    let hint = match names.iter().find(same) {
        Some(name) => format!(": did you mean {name}?"),
        None if kind == "SchedulerConfiguration" => ": a configuration is given by --config".into(),
        None => KNOWN_KINDS.to_owned() + &names.join(", "),
    };
    Err(format!("kind {:?} is not known{hint}", short(kind)))
}

impl Known {
    /// The schema of its full type; to make it takes longer than to read an object by it.
    pub(super) fn schema(&self) -> &Value {
        self.made.get_or_init(self.schema)
    }

    /// What is played for an object; `None` for kinds without effect.
    pub(super) fn object(
        &self,
        value: &Value,
        behaviour: &Behaviour,
        reading: &Reading,
    ) -> Result<Option<Played>, String> {
        (self.play)(value, behaviour, reading)
    }
}

fn nothing(_: &Value, _: &Behaviour, _: &Reading) -> Result<Option<Played>, String> {
    Ok(None)
}

/// An object of a watched kind. What stands here beside the table is what a scenario demands of some
/// beyond the schema, for there is no API server that would.
fn watched<R: Row>(
    value: &Value,
    behaviour: &Behaviour,
    reading: &Reading,
) -> Result<Option<Played>, String> {
    if R::KIND == kinds::Kind::Testbeds {
        return testbed(value).map(Some);
    }
    if R::KIND == kinds::Kind::TestbedSlices {
        // Who sits on slots is found out anew.
        return Ok(None);
    }
    if R::KIND == kinds::Kind::SchedulingSpecs {
        return scheduling_spec(value).map(Some);
    }
    let object = match R::KIND {
        kinds::Kind::Pods => pod(value, reading),
        kinds::Kind::Nodes => read(value, reading, |node: &mut slim::Node| {
            none(&convert::unreadable_amounts(node))
        }),
        kinds::Kind::PodGroups => read(value, reading, |group: &mut crd::PodGroup| {
            crd::validate(group).or_else(|problems| none(&problems))
        }),
        kinds::Kind::Queues => read(value, reading, |queue: &mut crd::Queue| {
            crd::validate_queue(queue).or_else(|problems| none(&problems))
        }),
        kinds::Kind::Topologies => read(value, reading, |topology: &mut crd::Topology| {
            crd::validate_topology(topology).or_else(|problems| none(&problems))
        }),
        kinds::Kind::PersistentVolumeClaims => {
            read(value, reading, |claim: &mut slim::PersistentVolumeClaim| {
                let size = claim.spec.resources.requests.get("storage");
                let path = "spec.resources.requests.storage";
                none(&convert::unreadable_sizes([(path, size)]))
            })
        }
        kinds::Kind::PersistentVolumes => {
            read(value, reading, |volume: &mut slim::PersistentVolume| {
                let size = volume.spec.capacity.get("storage");
                none(&convert::unreadable_sizes([(
                    "spec.capacity.storage",
                    size,
                )]))
            })
        }
        kinds::Kind::CsiStorageCapacities => {
            read(value, reading, |capacity: &mut slim::CSIStorageCapacity| {
                none(&convert::unreadable_sizes([
                    ("capacity", capacity.capacity.as_ref()),
                    ("maximumVolumeSize", capacity.maximum_volume_size.as_ref()),
                ]))
            })
        }
        _ => read(value, reading, |_: &mut R| Ok(())),
    };
    played(object?, value, behaviour.run(None)).map(Some)
}

/// What a watch would tell, if nothing is wrong with it.
fn read<K: Watchable>(
    value: &Value,
    reading: &Reading,
    check: impl FnOnce(&mut K) -> Result<(), String>,
) -> Result<Object, String> {
    let mut object = K::deserialize(value).map_err(|error| whole_numbers(&error))?;
    check(&mut object)?;
    object.exists(reading)
}

/// What could not be read, without the names of our types.
fn whole_numbers(error: &serde_json::Error) -> String {
    let words = error.to_string();
    words.replace("expected i32", "expected a whole number up to 2147483647")
}

/// What is played where a watch would tell this.
fn played(object: Object, value: &Value, run: Run) -> Result<Played, String> {
    Ok(match object {
        Object::Pod(spec) => Played::Pod(Box::new(PodPlan {
            claims: claims_made_for(&spec, value)?,
            spec: *spec,
            run,
            before: None,
            made: None,
        })),
        Object::DisruptionBudget(spec) => Played::Budget(Box::new(BudgetPlan {
            spec: *spec,
            needed: needed(value)?,
        })),
        plain => Played::Plain(plain),
    })
}

/// The claims that are made for a pod, of its volumes of kind `ephemeral`.
fn claims_made_for(pod: &PodSpec, value: &Value) -> Result<Vec<ClaimSpec>, String> {
    let volumes = value["spec"]["volumes"].as_array().into_iter().flatten();
    let templates = volumes.filter_map(|volume| {
        let template = volume.get("ephemeral")?.get("volumeClaimTemplate")?;
        Some((volume["name"].as_str().unwrap_or_default(), template))
    });
    let claim = |(volume, template): (&str, &Value)| {
        let mut template = template.clone();
        if template["metadata"].is_null() {
            template["metadata"] = Value::Object(Map::new());
        }
        let read = slim::PersistentVolumeClaim::deserialize(&template);
        let read = read.map_err(|error| format!("spec.volumes[{volume}].ephemeral: {error}"))?;
        let (namespace, pod) = (pod.key.namespace.clone(), &pod.key.name);
        let name = format!("{pod}-{volume}");
        Ok(ClaimSpec {
            key: ClaimKey { namespace, name },
            ..convert::claim(&read)
        })
    };
    templates.map(claim).collect()
}

/// From what it follows how many pods of a PodDisruptionBudget may go, unless its status says so.
fn needed(value: &Value) -> Result<Option<Needed>, String> {
    if !value["status"]["disruptionsAllowed"].is_null() {
        return Ok(None);
    }
    let field = |name: &str| {
        let found = &value["spec"][name];
        (!found.is_null()).then(|| amount(found).map_err(|error| format!("spec.{name}: {error}")))
    };
    match (field("minAvailable"), field("maxUnavailable")) {
        (Some(_), Some(_)) => {
            Err("spec.minAvailable and spec.maxUnavailable exclude each other".to_owned())
        }
        (Some(least), None) => Ok(Some(Needed::Available(least?))),
        (None, Some(most)) => Ok(Some(Needed::Unavailable(most?))),
        (None, None) => Ok(Some(Needed::Available(Amount::Count(0)))),
    }
}

/// A number of pods, or a percentage.
fn amount(value: &Value) -> Result<Amount, String> {
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    let percent = value
        .as_str()
        .and_then(|text| text.strip_suffix('%')?.parse().ok());
    let amount = number.map(Amount::Count).or(percent.map(Amount::Percent));
    amount.ok_or_else(|| format!("{value} is neither a number of pods nor a percentage"))
}

/// A Testbed: who sits on its slots is found out anew.
fn testbed(value: &Value) -> Result<Played, String> {
    let found = crd::Testbed::deserialize(value).map_err(|error| error.to_string())?;
    crd::validate_testbed(&found).or_else(|problems| none(&problems))?;
    Ok(Played::Whole(Resource::Testbeds, Box::new(value.clone())))
}

/// A SchedulingSpec, of which a QueueJob may want the name.
fn scheduling_spec(value: &Value) -> Result<Played, String> {
    let found =
        crd::JobSchedulingSpec::deserialize(value).map_err(|error| whole_numbers(&error))?;
    crd::validate_scheduling_spec(&found).or_else(|problems| none(&problems))?;
    let value = Box::new(value.clone());
    Ok(Played::Whole(Resource::SchedulingSpecs, value))
}

/// A BatchJob: how far it is is found out anew.
fn batch_job(value: &Value, _: &Behaviour, _: &Reading) -> Result<Option<Played>, String> {
    let found = crd::BatchJob::deserialize(value).map_err(|error| error.to_string())?;
    crd::validate_batch_job(&found).or_else(|problems| none(&problems))?;
    let pod = &value["spec"]["job"]["spec"]["template"];
    Behaviour::of(pod).map_err(|error| format!("spec.job.spec.template: {error}"))?;
    Ok(Some(Played::Whole(
        Resource::BatchJobs,
        Box::new(value.clone()),
    )))
}

/// A Scheduling, the same.
fn scheduling(value: &Value, _: &Behaviour, _: &Reading) -> Result<Option<Played>, String> {
    let found = crd::Scheduling::deserialize(value).map_err(|error| error.to_string())?;
    crd::validate_scheduling(&found).or_else(|problems| none(&problems))?;
    Ok(Some(Played::Whole(
        Resource::Schedulings,
        Box::new(value.clone()),
    )))
}

/// A QueueJob, the same.
fn queue_job(value: &Value, _: &Behaviour, _: &Reading) -> Result<Option<Played>, String> {
    let found = crd::QueueJob::deserialize(value).map_err(|error| error.to_string())?;
    crd::validate_queue_job(&found).or_else(|problems| none(&problems))?;
    for (place, task) in found.spec.task_specs.iter().enumerate() {
        Behaviour::of(&task.template)
            .map_err(|error| format!("spec.taskSpecs[{place}].template: {error}"))?;
    }
    Ok(Some(Played::Whole(
        Resource::QueueJobs,
        Box::new(value.clone()),
    )))
}

/// A pod that a controller makes, read as one of a scenario. One that is evicted its controller makes anew.
///
/// # Errors
/// What is wrong with it.
pub fn made_pod(value: &Value, reading: &Reading) -> Result<PodPlan, String> {
    let run = Run {
        on_eviction: OnEviction::Gone,
        ..Behaviour::of(value)?.run(None)
    };
    match played(pod(value, reading)?, value, run)? {
        Played::Pod(plan) => Ok(*plan),
        _ => Err("it is no pod".to_owned()),
    }
}

fn plugin_answers(value: &Value, _: &Behaviour, _: &Reading) -> Result<Option<Played>, String> {
    Ok(Some(Played::Answers(answers::read(value)?)))
}

const JOBS_DO_NOT_FAIL: &str = "simulate.muster.dev/ends: the pods of a Job in a scenario succeed; those of a BatchJob may fail";

fn job(value: &Value, behaviour: &Behaviour, reading: &Reading) -> Result<Option<Played>, String> {
    let made = jobs::expand(value)?;
    let mut pods = Vec::with_capacity(made.pods.len());
    for value in &made.pods {
        let run = Behaviour::of(value)?.run(Some(behaviour));
        if run.fails {
            return Err(JOBS_DO_NOT_FAIL.to_owned());
        }
        if let Played::Pod(plan) = played(pod(value, reading)?, value, run)? {
            pods.push(*plan);
        }
    }
    let text = |field: &str| value["metadata"][field].as_str().unwrap_or_default();
    Ok(Some(Played::Job(Box::new(JobPlan {
        namespace: text("namespace").to_owned(),
        name: text("name").to_owned(),
        pods,
        parallelism: made.parallelism,
        running: Vec::new(),
    }))))
}

/// What `status.phase` of a pod may be; nothing is `Pending`.
const PHASES: [&str; 6] = ["", "Pending", "Running", "Succeeded", "Failed", "Unknown"];

fn pod(value: &Value, reading: &Reading) -> Result<Object, String> {
    read(value, reading, |pod: &mut slim::Pod| {
        let phase = pod.status.phase.as_str();
        if !PHASES.contains(&phase) {
            let (found, known) = (short(phase), PHASES[1..].join(", "));
            return Err(format!("status.phase: {found:?} is none of {known}"));
        }
        // The simulated API server knows one scheduler, and so defaults to it.
        if pod.spec.scheduler_name.is_empty()
            && let Some(name) = reading.scheduler_names.first()
        {
            pod.spec.scheduler_name.clone_from(name);
        }
        creation::complete(pod);
        Ok(())
    })
}

/// Fine if there are no problems.
fn none(problems: &[String]) -> Result<(), String> {
    if problems.is_empty() {
        return Ok(());
    }
    Err(problems.join("; "))
}
