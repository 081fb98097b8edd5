//! One look at a BatchJob: what is seen of it, what follows, and which writes that needs.

use super::life::{self, Application, Claim, Group, Phase, Seen, State, Want};
use super::status::{self, Facts};
use super::things::{APPLICATIONS, Thing};
use super::wanted::{For, Problem, Wanted, run_of, wanted};
use super::{Batch, BatchJobs, on};
use crate::desk::Name;
use crate::room::Due;
use crate::{Deed, Definition, ObjectName, Resource};
use muster_api::crd::{BatchJobState, CreationRequest, SchedulingReference};
use muster_model::units::{Millis, Time};
use std::collections::BTreeMap;

/// An application is gone if it is missing for so long: of one that is there, its watch has told by then.
const MISSING: Millis = Millis(5_000);

/// What belongs to a BatchJob, or has its name.
struct Around {
    /// Of the application: which object, and what is known of it.
    application: (ObjectName, Application),
    group: Group,
    /// Who is in the way, in words.
    in_the_way: Option<String>,
}

impl BatchJobs {
    /// Sends what a BatchJob needs, as far as there is room; whether all of it is sent.
    pub(super) fn look(&mut self, key: &Name, now: Time, due: &mut Due<'_>) -> bool {
        let mut wanted = self.orphans(key);
        wanted.extend(self.steps(key, now));
        for (object, deed) in wanted {
            if !due.has_room(&object.namespace) {
                return false;
            }
            due.add(self.desk.send(key, object, deed, now));
        }
        true
    }

    /// What is of a BatchJob of this name that is gone: nobody else may collect it.
    fn orphans(&self, key: &Name) -> Vec<(ObjectName, Deed)> {
        let uid = self.batches.get(key).map(|batch| batch.uid.as_str());
        let all = APPLICATIONS.into_iter().chain([Resource::PodGroups]);
        let mut found = Vec::new();
        for object in all.map(|resource| on(resource, key)) {
            if let Some(thing) = self.things.get(&object)
                && let Some((name, owner)) = thing.batch_job()
                && name == key.1
                && uid != Some(owner)
                && !thing.terminating
            {
                let uid = thing.uid.clone();
                found.push((object, Deed::Delete { uid }));
            }
        }
        found
    }

    /// What follows for a BatchJob that is there.
    fn steps(&mut self, key: &Name, now: Time) -> Vec<(ObjectName, Deed)> {
        let Some(batch) = self.batches.get(key) else {
            return Vec::new();
        };
        let said = batch.status.clone().unwrap_or_default();
        let is = State {
            run: said.state.unwrap_or_default(),
            honoured: said.active_scheduling.is_some(),
            noted: said.application_uid.is_some(),
        };
        let claim = claim(batch, key).cloned();
        let request = batch.spec.creation_request.clone();
        let run = said.active_scheduling.as_ref().zip(request.as_ref());
        let run = run.map(|(claim, request)| run_of(claim, request));
        let run = run.unwrap_or_default();
        let around = self.around(key, said.application_uid.as_deref(), &run, now);
        let Some(batch) = self.batches.get(key) else {
            return Vec::new();
        };
        let (object, mut application) = around.application;
        let begun = is.noted && matches!(is.run, BatchJobState::Submitted | BatchJobState::Running);
        let missing = begun && application == Application::Absent;
        let missing = missing.then(|| batch.missing.unwrap_or(now));
        if let Some(since) = missing
            && now < since + MISSING
        {
            application = Application::Moving;
            self.desk.look_again(key, since + MISSING);
        }
        let mut seen = Seen {
            claim: match (&claim, &said.active_scheduling) {
                (None, _) => Claim::None,
                (Some(claim), Some(honoured)) if claim == honoured => Claim::Same,
                (Some(_), _) => Claim::Other,
            },
            asked: request.is_some(),
            possible: false,
            application,
            group: around.group,
        };
        let asks = seen.claim == Claim::Same && !life::is_over(is.run);
        let lacks = application == Application::Absent || seen.group == Group::Absent;
        let made = request.as_ref().filter(|_| asks && lacks);
        let made = made.map(|request| self.made(key, batch, request, &run));
        seen.possible = matches!(made, Some(Ok(_)));
        let step = life::step(is, seen);
        let uid = self.things.get(&object).map(|thing| thing.uid.as_str());
        let astray = uid.filter(|_| matches!(application, Application::This(_)));
        let astray = astray.filter(|_| object.resource == Resource::SparkApplications);
        let scheduler = &self.settings.scheduler_name;
        let astray = astray.and_then(|uid| self.pods.astray((key, uid), scheduler, &key.1));
        let astray =
            astray.map(|words| format!("{words}: does the webhook of the Spark operator run?"));
        let can = made.as_ref().and_then(|made| made.as_ref().ok());
        let mut due = self.deeds(key, &object, &step.wants, can);
        // What is not tried any more is not refused any more.
        let refused = batch.refused.iter();
        let refused =
            refused.filter(|(resource, _)| due.iter().any(|(one, _)| one.resource == **resource));
        let refused: BTreeMap<Resource, String> = refused
            .map(|(resource, words)| (*resource, words.clone()))
            .collect();
        let words = [
            around.in_the_way.map(|words| ("NameTaken", words)),
            made.and_then(Result::err)
                .map(|one| (one.reason, one.message)),
            refused
                .values()
                .next()
                .map(|words| ("Refused", words.clone())),
            astray.map(|words| ("OperatorMissing", words)),
        ];
        let problem = of_claim(batch, key).or_else(|| words.into_iter().flatten().next());
        let facts = Facts {
            generation: batch.generation,
            is,
            step: &step,
            claim: claim.as_ref(),
            request: request.as_ref(),
            application: uid,
            problem,
        };
        let operations = status::operations(batch.status.as_ref(), &facts, now);
        if !operations.is_empty() {
            let deed = Deed::PatchStatus {
                uid: batch.uid.clone(),
                version: batch.version.clone(),
                operations,
            };
            due.push((on(Resource::BatchJobs, key), deed));
        }
        if let Some(batch) = self.batches.get_mut(key) {
            batch.missing = missing;
            batch.refused = refused;
        }
        due
    }

    /// What is wanted, as writes.
    fn deeds(
        &self,
        key: &Name,
        application: &ObjectName,
        wants: &[Want],
        made: Option<&Wanted>,
    ) -> Vec<(ObjectName, Deed)> {
        let group = on(Resource::PodGroups, key);
        let delete = |object: &ObjectName| {
            let thing = self.things.get(object).filter(|one| !one.terminating)?;
            let uid = thing.uid.clone();
            Some((object.clone(), Deed::Delete { uid }))
        };
        let wants = wants.iter();
        let deeds = wants.filter_map(|want| match want {
            Want::MakeGroup => Some((group.clone(), Deed::Create(made?.group.clone()))),
            Want::MakeApplication => {
                Some((application.clone(), Deed::Create(made?.application.clone())))
            }
            Want::DeleteGroup => delete(&group),
            Want::DeleteApplication => delete(application),
        });
        deeds.collect()
    }

    /// What is to be made for what is asked.
    fn made(
        &self,
        key: &Name,
        batch: &Batch,
        request: &CreationRequest,
        run: &str,
    ) -> Result<Wanted, Problem> {
        let resource = resource_of(batch);
        if self.not_served.contains(&resource) {
            return Err(not_served(resource));
        }
        let Some(bed) = self.beds.get(&request.testbed) else {
            return Err(Problem {
                reason: "TestbedNotFound",
                message: format!(
                    "spec.creationRequest.testbed: there is no Testbed {}",
                    request.testbed
                ),
            });
        };
        let of = For {
            namespace: &key.0,
            name: &key.1,
            uid: &batch.uid,
            request,
            run,
            slot: &bed.slot,
            settings: &self.settings,
        };
        wanted(&batch.spec, of)
    }

    /// What is seen of the application and of the PodGroup.
    fn around(&mut self, key: &Name, noted: Option<&str>, run: &str, now: Time) -> Around {
        let uid = self.batches.get(key).map(|batch| batch.uid.clone());
        let uid = uid.unwrap_or_default();
        let ours = |thing: &Thing| thing.batch_job().is_some_and(|(_, owner)| owner == uid);
        let is_this = |thing: &Thing| match noted {
            Some(noted) => thing.uid == noted,
            None => !run.is_empty() && thing.run == run,
        };
        // Of another kind than is wanted now, one may be there from before an edit.
        let wanted = self.batches.get(key).map_or(Resource::Jobs, resource_of);
        let kinds = APPLICATIONS.map(|resource| on(resource, key));
        let there = kinds
            .iter()
            .filter(|object| self.things.get(object).is_some_and(ours));
        let best = there.max_by_key(|object| {
            let thing = self.things.get(object);
            (thing.is_some_and(is_this), object.resource == wanted)
        });
        let object = best.cloned().unwrap_or_else(|| on(wanted, key));
        let mut in_the_way = None;
        let mut foreign = |object: &ObjectName, thing: &Thing| {
            let (kind, name) = (object.resource.definition().kind, &key.1);
            let words = format!("{kind} {name} is in the way: {}", thing.whose());
            in_the_way.get_or_insert(words);
        };
        let application = match self.things.get(&object) {
            None => Application::Absent,
            Some(thing) if !ours(thing) => {
                foreign(&object, thing);
                Application::Foreign
            }
            Some(thing) if thing.terminating && !is_end(thing) => Application::Moving,
            Some(thing) if is_this(thing) => Application::This(self.phase(&object, thing)),
            Some(_) => Application::Old,
        };
        let group_is = on(Resource::PodGroups, key);
        let group = match self.things.get(&group_is) {
            None => Group::Absent,
            Some(thing) if !ours(thing) => {
                foreign(&group_is, thing);
                Group::Foreign
            }
            Some(thing) if thing.terminating => Group::Moving,
            Some(thing) if noted.is_some() || !run.is_empty() && thing.run == run => Group::This,
            Some(_) => Group::Old,
        };
        // What is being made may be there, and what was made is, even if nobody has told of it.
        let moving = kinds.iter().any(|object| {
            !self.things.contains_key(object) && self.desk.is_moving(key, object, now)
        });
        let application = match application {
            Application::Absent | Application::Foreign if moving => Application::Moving,
            application => application,
        };
        let group = match group {
            Group::Absent if self.desk.is_moving(key, &group_is, now) => Group::Moving,
            group => group,
        };
        Around {
            application: (object, application),
            group,
            in_the_way,
        }
    }

    fn phase(&self, object: &ObjectName, thing: &Thing) -> Phase {
        let of_job = object.resource == Resource::Jobs && thing.phase == Phase::Submitted;
        if of_job && self.pods.all_run(thing) {
            Phase::Running
        } else {
            thing.phase
        }
    }
}

/// What is wrong where the API server does not know a kind of application.
fn not_served(resource: Resource) -> Problem {
    let Definition {
        group,
        version,
        kind,
        ..
    } = resource.definition();
    Problem {
        reason: "OperatorMissing",
        message: format!(
            "the API server does not serve {kind} ({group}/{version}): is its operator installed?"
        ),
    }
}

/// Whether an application has ended.
fn is_end(thing: &Thing) -> bool {
    matches!(thing.phase, Phase::Completed | Phase::Failed)
}

/// Which kind of application a BatchJob wants.
pub(super) fn resource_of(batch: &Batch) -> Resource {
    if batch.spec.spark_application.is_some() {
        Resource::SparkApplications
    } else if batch.spec.flink_deployment.is_some() {
        Resource::FlinkDeployments
    } else {
        Resource::Jobs
    }
}

/// The claim that may count: of its own namespace, while it is there to stay.
fn claim<'a>(batch: &'a Batch, key: &Name) -> Option<&'a SchedulingReference> {
    let claim = batch.spec.active_scheduling.as_ref()?;
    (claim.namespace == key.0 && !batch.terminating).then_some(claim)
}

/// What is wrong with who claims it.
fn of_claim(batch: &Batch, key: &Name) -> Option<(&'static str, String)> {
    let claim = batch.spec.active_scheduling.as_ref()?;
    if claim.namespace != key.0 {
        let (namespace, own) = (&claim.namespace, &key.0);
        let words = format!(
            "spec.activeScheduling.namespace: is {namespace}; only Schedulings of {own} may claim it"
        );
        return Some(("Invalid", words));
    }
    let honoured = batch.status.as_ref();
    let honoured = honoured.and_then(|status| status.active_scheduling.as_ref());
    let honoured = honoured.filter(|honoured| *honoured != claim)?;
    let words = format!(
        "Scheduling {} claims it; what Scheduling {} has of it is removed first",
        claim.name, honoured.name
    );
    Some(("ClaimedByAnother", words))
}
