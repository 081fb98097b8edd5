//! What a record says was decided: who was placed where, who was evicted for whom and why, who was refused for what, and
//! what the API server did not take. Nothing is played for that.

use crate::entry::Entry;
use muster_model::explanation::Thousandths;
use muster_model::units::Time;
use muster_model::{
    BindOutcome, Decision, Effect, Event, EvictCause, EvictOutcome, GangRef, Object, ObjectKey,
    Outcome, Plan, PodKey, PodSpec,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// One decision, or what became of one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decided {
    /// When, in seconds.
    pub at: Thousandths,
    /// Which entry of the term says so.
    pub entry: u64,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What was decided, or became of it. Pods and gangs are named `NAMESPACE/NAME`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "decision", rename_all_fields = "camelCase")]
pub enum What {
    /// Members of a gang got places.
    Placed {
        /// The gang.
        gang: String,
        /// Its queue.
        queue: String,
        /// How many.
        pods: u32,
        /// On how many nodes.
        nodes: u32,
    },
    /// A pod is to be bound.
    Bind {
        /// The pod.
        pod: String,
        /// Its uid.
        uid: String,
        /// Its gang.
        gang: String,
        /// The node.
        node: String,
    },
    /// A pod is to go.
    Evict {
        /// The pod.
        pod: String,
        /// Its uid.
        uid: String,
        /// Its gang.
        gang: String,
        /// The node that it leaves.
        node: Option<String>,
        /// For what.
        cause: EvictCause,
        /// For which gang.
        beneficiary: Option<String>,
        /// Why.
        message: String,
    },
    /// A gang has no place.
    Refused {
        /// The gang.
        gang: String,
        /// Its queue.
        queue: String,
        /// Why, as a word.
        reason: String,
        /// Why, in words.
        message: String,
    },
    /// A gang leaves its nodes as a whole.
    Released {
        /// The gang.
        gang: String,
        /// Its queue.
        queue: String,
        /// How many members.
        pods: u32,
        /// Why.
        message: String,
    },
    /// A bind that was ordered did not happen.
    NotBound {
        /// The pod.
        pod: String,
        /// Its uid.
        uid: String,
        /// Its gang.
        gang: String,
        /// Why.
        message: String,
    },
    /// An eviction that was ordered did not happen.
    NotEvicted {
        /// The pod.
        pod: String,
        /// Its uid.
        uid: String,
        /// Its gang.
        gang: String,
        /// Why.
        message: String,
    },
}

/// Finds decisions. It knows of each pod to which gang it belongs, and where it is.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    pods: BTreeMap<(String, String), Known>,
}

/// What is known of a pod.
#[derive(Clone, Debug)]
struct Known {
    uid: String,
    gang: String,
    node: Option<String>,
}

impl Decisions {
    /// Those of the next entry of a term; `number` is which it is.
    pub fn of(&mut self, entry: &Entry, number: u64) -> Vec<Decided> {
        let found = match entry {
            Entry::Heard(_, event) => self.hear(event).into_iter().collect(),
            Entry::Decided(_, plan) => self.plan(plan),
            Entry::Gap(..) => Vec::new(),
        };
        let with_time = |what| Decided {
            at: seconds(entry.at()),
            entry: number,
            what,
        };
        found.into_iter().map(with_time).collect()
    }

    fn hear(&mut self, event: &Event) -> Option<What> {
        match event {
            Event::Is(Object::Pod(pod)) => {
                let known = Known {
                    uid: pod.key.uid.clone(),
                    gang: gang_of(pod),
                    node: pod.node.clone(),
                };
                self.pods.insert(name_of(&pod.key), known);
                None
            }
            Event::Gone(ObjectKey::Pod(key)) => {
                let name = name_of(key);
                let known = self.pods.get(&name);
                if known.is_some_and(|pod| key.uid.is_empty() || key.uid == pod.uid) {
                    self.pods.remove(&name);
                }
                None
            }
            Event::BindResult(
                pod,
                BindOutcome::Refused { message } | BindOutcome::Failed { message },
            ) => Some(What::NotBound {
                pod: pod.to_string(),
                uid: pod.uid.clone(),
                gang: self.gang(pod),
                message: message.clone(),
            }),
            Event::EvictResult(
                pod,
                EvictOutcome::Refused { message } | EvictOutcome::Failed { message },
            ) => Some(What::NotEvicted {
                pod: pod.to_string(),
                uid: pod.uid.clone(),
                gang: self.gang(pod),
                message: message.clone(),
            }),
            _ => None,
        }
    }

    fn plan(&self, plan: &Plan) -> Vec<What> {
        let decided = plan.decisions.iter().map(of_gang);
        let ordered = plan.effects.iter().filter_map(|effect| match effect {
            Effect::Bind(bind) => Some(What::Bind {
                pod: bind.pod.to_string(),
                uid: bind.pod.uid.clone(),
                gang: self.gang(&bind.pod),
                node: bind.node.clone(),
            }),
            Effect::Evict(evict) => Some(What::Evict {
                pod: evict.pod.to_string(),
                uid: evict.pod.uid.clone(),
                gang: self.gang(&evict.pod),
                node: self.known(&evict.pod).and_then(|pod| pod.node.clone()),
                cause: evict.cause,
                beneficiary: evict.beneficiary.as_ref().map(ToString::to_string),
                message: evict.message.to_string(),
            }),
            _ => None,
        });
        decided.chain(ordered).collect()
    }

    fn known(&self, pod: &PodKey) -> Option<&Known> {
        let known = self.pods.get(&name_of(pod));
        known.filter(|known| known.uid == pod.uid)
    }

    fn gang(&self, pod: &PodKey) -> String {
        let known = self.known(pod).map(|known| known.gang.clone());
        known.unwrap_or_else(|| pod.to_string())
    }
}

fn of_gang(decision: &Decision) -> What {
    let (gang, queue) = (decision.gang.clone(), decision.queue.clone());
    match &decision.outcome {
        Outcome::Placed { pods, nodes, .. } => What::Placed {
            gang,
            queue,
            pods: *pods,
            nodes: *nodes,
        },
        Outcome::Waits { reason, message } => What::Refused {
            gang,
            queue,
            reason: reason.to_string(),
            message: message.to_string(),
        },
        Outcome::Released { pods, message } => What::Released {
            gang,
            queue,
            pods: *pods,
            message: message.to_string(),
        },
    }
}

fn name_of(pod: &PodKey) -> (String, String) {
    (pod.namespace.clone(), pod.name.clone())
}

/// A pod without a gang is one of its own, under its name.
fn gang_of(pod: &PodSpec) -> String {
    match &pod.gang {
        GangRef::Own => pod.key.to_string(),
        GangRef::Named { name, .. } => format!("{}/{name}", pod.key.namespace),
    }
}

const fn seconds(at: Time) -> Thousandths {
    Thousandths(at.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::testing::{group, pod};
    use muster_model::{Bind, Code, Evict};
    use serde_json::{Value, json};

    fn told(decisions: &mut Decisions, entry: &Entry) -> Vec<Value> {
        let found = decisions.of(entry, 7);
        found
            .into_iter()
            .map(|one| serde_json::to_value(one).unwrap())
            .collect()
    }

    fn heard(event: Event) -> Entry {
        Entry::Heard(Time(1_500), event)
    }

    #[test]
    fn a_plan_is_told_with_the_gangs_of_its_pods_and_the_nodes_they_leave() {
        let mut decisions = Decisions::default();
        let mut old = pod("old", Some("low"), 1);
        old.node = Some("n".into());
        let new = pod("new", None, 1);
        for spec in [&old, &new] {
            let is = heard(Event::is(spec.clone()));
            assert_eq!(told(&mut decisions, &is), [Value::Null; 0]);
        }
        let plan = Plan {
            effects: vec![
                Effect::Bind(Bind {
                    pod: new.key,
                    node: "m".into(),
                    slot: None,
                    completes: false,
                    asks: None,
                }),
                Effect::Evict(Evict {
                    pod: old.key,
                    cause: EvictCause::Preemption,
                    beneficiary: Some(group("high").key),
                    message: "makes room".into(),
                    again: false,
                }),
            ],
            decisions: vec![Decision {
                gang: "a/wide".into(),
                group: None,
                queue: "q".into(),
                outcome: Outcome::Waits {
                    reason: Code::new("Unschedulable"),
                    message: "0/1 nodes".into(),
                },
            }],
            ..Plan::default()
        };
        assert_eq!(
            told(&mut decisions, &Entry::Decided(Time(2_000), plan)),
            [
                json!({"at": 2.0, "entry": 7, "decision": "Refused", "gang": "a/wide", "queue": "q",
                       "reason": "Unschedulable", "message": "0/1 nodes"}),
                json!({"at": 2.0, "entry": 7, "decision": "Bind", "pod": "a/new", "uid": "uid-new",
                       "gang": "a/new", "node": "m"}),
                json!({"at": 2.0, "entry": 7, "decision": "Evict", "pod": "a/old", "uid": "uid-old",
                       "gang": "a/low", "node": "n", "cause": "Preemption", "beneficiary": "a/high",
                       "message": "makes room"}),
            ]
        );
    }

    #[test]
    fn what_the_api_server_does_not_take_is_told_and_a_pod_that_is_gone_has_no_gang() {
        let mut decisions = Decisions::default();
        let spec = pod("p", Some("g"), 1);
        let refused = || {
            let message = "no".to_owned();
            heard(Event::BindResult(
                spec.key.clone(),
                BindOutcome::Refused { message },
            ))
        };
        told(&mut decisions, &heard(Event::is(spec.clone())));
        assert_eq!(
            told(&mut decisions, &refused()),
            [
                json!({"at": 1.5, "entry": 7, "decision": "NotBound", "pod": "a/p", "uid": "uid-p",
                    "gang": "a/g", "message": "no"})
            ]
        );
        let gone = heard(Event::Gone(ObjectKey::Pod(spec.key.clone())));
        assert_eq!(told(&mut decisions, &gone), [Value::Null; 0]);
        assert_eq!(told(&mut decisions, &refused())[0]["gang"], "a/p");
        let bound = BindOutcome::Bound { node: "n".into() };
        let bound = heard(Event::BindResult(spec.key.clone(), bound));
        assert_eq!(told(&mut decisions, &bound), [Value::Null; 0]);
    }
}
