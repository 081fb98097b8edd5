//! One pod, and its course in both clusters.

use crate::books::{Member, Standing};
use crate::report::Pair;
use muster_model::units::{Millis, Time};
use muster_model::{GangKey, GangRef, PodKey, PodPhase, PodSpec};

/// Times of the API server have whole seconds. One that is closer to when it was heard of than this says less than
/// that does.
const COARSE: Millis = Millis(2_000);

/// Where a pod is in the shadow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It has no node.
    Waits,
    /// It runs.
    On {
        node: String,
        since: Time,
        /// It is there because it really is, not because the core bound it.
        as_it_is: bool,
    },
    /// It has ended, on this node.
    Ended {
        phase: PodPhase,
        node: Option<String>,
    },
}

/// A pod that is considered.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    /// As it really is, or was last.
    pub(crate) real: PodSpec,
    /// Since when it wants to run.
    submitted: Time,
    /// Since when it really has a node.
    bound: Option<Time>,
    /// How long it really ran, if it ended by itself.
    ran: Option<Millis>,
    /// It was told to go before it had ended.
    deleted: bool,
    /// It had a node when it was seen first: nobody saw it start.
    began_before: bool,
    /// The object is gone.
    pub(crate) is_gone: bool,
    /// Where it is in the shadow.
    pub(crate) place: Place,
    /// How often it began anew in the shadow.
    begun_anew: u32,
}

/// When something happened of which was heard now, by a stamp that may be old or coarse.
fn moment(stamp: Option<Time>, now: Time) -> Time {
    stamp
        .filter(|stamp| now.since(*stamp) >= COARSE)
        .unwrap_or(now)
}

impl Course {
    /// A pod that is seen for the first time.
    pub(crate) fn new(spec: PodSpec, now: Time) -> Self {
        let bound = spec.node.is_some().then(|| moment(spec.bound_at, now));
        let place = match (&spec.node, bound) {
            _ if spec.phase.is_terminal() => Place::Ended {
                phase: spec.phase,
                node: spec.node.clone(),
            },
            (Some(node), Some(since)) => Place::On {
                node: node.clone(),
                since,
                as_it_is: true,
            },
            _ => Place::Waits,
        };
        Self {
            submitted: moment(Some(spec.created), now),
            bound,
            ran: None,
            deleted: spec.terminating,
            began_before: bound.is_some(),
            is_gone: false,
            place,
            begun_anew: 0,
            real: spec,
        }
    }

    /// Takes in how it really is.
    pub(crate) fn is_now(&mut self, spec: PodSpec, now: Time) {
        if spec.node.is_some() && self.bound.is_none() {
            self.bound = Some(moment(spec.bound_at, now));
        }
        let ends = spec.phase.is_terminal() && !self.real.phase.is_terminal();
        // Who is told to go ends for that reason, even where its containers end well.
        self.deleted |= spec.terminating && !self.real.phase.is_terminal();
        self.real = spec;
        if ends {
            match self.bound {
                Some(bound) if !self.deleted => self.ran = Some(now.since(bound)),
                _ => self.end(),
            }
        }
    }

    /// Whether it goes on in the shadow when the object is deleted.
    pub(crate) const fn outlives_its_object(&self) -> bool {
        self.ran.is_some() && !matches!(self.place, Place::Ended { .. })
    }

    /// When it ends in the shadow, if that is known.
    pub(crate) fn ends_at(&self) -> Option<Time> {
        match &self.place {
            Place::On { since, .. } => Some(*since + self.ran?),
            _ => None,
        }
    }

    /// It ends in the shadow as it really did.
    pub(crate) fn end(&mut self) {
        let node = match &mut self.place {
            Place::On { node, .. } => Some(std::mem::take(node)),
            Place::Waits | Place::Ended { .. } => None,
        };
        self.place = Place::Ended {
            phase: self.real.phase,
            node,
        };
    }

    /// The core has bound it.
    pub(crate) fn bind(&mut self, node: String, now: Time) {
        self.place = Place::On {
            node,
            since: now,
            as_it_is: false,
        };
    }

    /// It has lost its node, and wants to run as another pod of its name.
    pub(crate) fn begin_anew(&mut self) {
        self.begun_anew += 1;
        self.place = Place::Waits;
    }

    /// Whether it really is on its way out, without having ended by itself.
    pub(crate) const fn is_leaving(&self) -> bool {
        self.deleted && self.ran.is_none()
    }

    /// Its key in the shadow.
    pub(crate) fn key(&self) -> PodKey {
        let mut key = self.real.key.clone();
        if self.begun_anew > 0 {
            key.uid = format!("{}~{}", key.uid, self.begun_anew);
        }
        key
    }

    /// As it is in the shadow.
    pub(crate) fn shown(&self) -> PodSpec {
        let real = &self.real;
        let mut spec = PodSpec {
            key: self.key(),
            nominated: None,
            terminating: self.is_leaving(),
            ..real.clone()
        };
        match &self.place {
            Place::Waits => {
                (spec.node, spec.bound_at) = (None, None);
                spec.phase = PodPhase::Pending;
            }
            Place::On {
                node,
                since,
                as_it_is,
            } => {
                spec.node = Some(node.clone());
                if !as_it_is {
                    spec.bound_at = Some(*since);
                }
                if !as_it_is || spec.phase.is_terminal() {
                    spec.phase = PodPhase::Running;
                }
            }
            Place::Ended { phase, node } => (spec.phase, spec.node) = (*phase, node.clone()),
        }
        spec
    }

    /// The node that it holds, in each of the clusters.
    pub(crate) fn nodes(&self) -> Pair<Option<&str>> {
        let real = self.real.node.as_deref();
        let shadow = match &self.place {
            Place::On { node, .. } => Some(node.as_str()),
            Place::Waits | Place::Ended { .. } => None,
        };
        Pair {
            real: real.filter(|_| !self.is_gone && !self.real.phase.is_terminal()),
            shadow,
        }
    }

    fn standings(&self) -> Pair<Standing> {
        let ended = |phase| match phase {
            PodPhase::Succeeded => Standing::Done,
            _ => Standing::Absent,
        };
        let real = match (&self.real.node, self.real.phase) {
            _ if self.is_gone => Standing::Absent,
            (_, phase) if phase.is_terminal() => ended(phase),
            (Some(_), _) => Standing::Holds,
            (None, _) => Standing::Waits,
        };
        let shadow = match &self.place {
            Place::Waits => Standing::Waits,
            Place::On { .. } => Standing::Holds,
            Place::Ended { phase, .. } => ended(*phase),
        };
        Pair { real, shadow }
    }

    /// As a member of its gang.
    pub(crate) fn member(&self) -> Member {
        let nodes = self.nodes();
        // What nobody saw wait did not start here; and what began anew had started.
        let bound = self.bound.filter(|_| !self.began_before);
        let used = |node: &Option<&str>| node.filter(|_| !self.real.daemon).map(str::to_owned);
        let since = match &self.place {
            Place::On {
                since,
                as_it_is: false,
                ..
            } if self.begun_anew == 0 => Some(*since),
            _ => None,
        };
        Member {
            gang: self.real.gang_key(),
            key: self.shadow_gang(),
            title: self.title(),
            submitted: self.submitted,
            standing: self.standings(),
            node: nodes.map(used),
            since: Pair {
                real: bound,
                shadow: since,
            },
        }
    }

    /// Its gang, as it is called in the shadow.
    fn shadow_gang(&self) -> GangKey {
        let mut gang = self.real.gang_key();
        if self.real.gang == GangRef::Own {
            gang.name = self.key().uid;
        }
        gang
    }

    /// What its gang is called by people.
    fn title(&self) -> String {
        match &self.real.gang {
            GangRef::Own => self.real.key.to_string(),
            GangRef::Named { name, .. } => {
                format!("{}/{name}", self.real.key.namespace)
            }
        }
    }
}
