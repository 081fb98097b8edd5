//! What can be chosen in a small world, and where: the fate of each request, how late each piece of news is, and what
//! happens between two steps. Nothing chosen, all goes well and arrives at once.

use muster::cluster::attempt::Answer;
use muster::cluster::lease::election;
use muster::model::units::{Millis, Time};
use muster::sim::network::{Chooser, Fate, Request, Sent};
use muster::sim::server::Stream;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::str::FromStr;
use std::sync::{Arc, Mutex};

/// One way of a request.
const WAY: Millis = Millis(10);
/// What is carried out as late as it may be (`cluster/ending.rs`), after its connection broke.
const LATE: Millis = Millis(2_400);
const BREAKS: Millis = Millis(100);
/// How long nobody answers.
const SILENCE: Millis = Millis(2_000);
/// How late news is that is late.
const LATE_NEWS: Millis = Millis(3_000);
/// Longer than the term of a Lease.
pub(crate) const PAUSE: Millis = Millis(8_000);

/// What does not go well, or is done by somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Choice {
    /// A request never arrives, and nobody answers.
    Lost,
    /// It is carried out, and nobody answers.
    Unheard,
    /// Its connection breaks, and it is carried out long after.
    Late,
    /// It is carried out and answered, and carried out once more as late as it may be.
    Twice,
    /// It is answered with an error, after it was carried out.
    Broken,
    /// It is refused.
    Refused,
    /// A piece of news is late, and what is behind it, too.
    LateNews,
    /// The process that leads dies, and its container starts anew at once.
    Dies,
    /// It dies with its node.
    DiesWithNode,
    /// It stands still for longer than its term.
    Pauses,
    /// The gang needs a member that it does not have.
    MinimumRaised,
    /// The gang needs one member only.
    MinimumLowered,
    /// The rival goes before the gang.
    RivalPreferred,
    /// A member of the gang is deleted, and made again.
    MemberDeleted,
    /// The rival is deleted.
    RivalDeleted,
    /// The gang is deleted, with its PodGroup.
    GangDeleted,
}

impl Choice {
    /// Whether nobody may know what a write came to, or it comes to more than it was for.
    pub(crate) const fn is_of_a_write(self) -> bool {
        matches!(
            self,
            Self::Lost | Self::Unheard | Self::Late | Self::Twice | Self::Broken
        )
    }

    /// Whether it is what somebody does, and nothing goes wrong.
    pub(crate) const fn is_somebodys(self) -> bool {
        matches!(
            self,
            Self::MinimumRaised
                | Self::MinimumLowered
                | Self::RivalPreferred
                | Self::MemberDeleted
                | Self::RivalDeleted
                | Self::GangDeleted
        )
    }
}

/// Where something can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Write,
    Read,
    LeaseWrite,
    LeaseRead,
    News,
    Step,
}

impl Place {
    pub(crate) const ALL: [Self; 6] = [
        Self::Write,
        Self::Read,
        Self::LeaseWrite,
        Self::LeaseRead,
        Self::News,
        Self::Step,
    ];

    /// What can be chosen there.
    pub(crate) const fn choices(self) -> &'static [Choice] {
        use Choice::{
            Broken, Dies, DiesWithNode, GangDeleted, Late, LateNews, Lost, MemberDeleted,
            MinimumLowered, MinimumRaised, Pauses, Refused, RivalDeleted, RivalPreferred, Twice,
            Unheard,
        };
        match self {
            Self::Write => &[Lost, Unheard, Late, Twice, Broken, Refused],
            Self::Read => &[Lost],
            Self::LeaseWrite => &[Lost, Unheard, Late],
            Self::LeaseRead => &[Lost],
            Self::News => &[LateNews],
            Self::Step => &[
                Dies,
                DiesWithNode,
                Pauses,
                MinimumRaised,
                MinimumLowered,
                RivalPreferred,
                MemberDeleted,
                RivalDeleted,
                GangDeleted,
            ],
        }
    }
}

/// What was chosen, by the number of the place at which it was.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan(pub(crate) Vec<(usize, Choice)>);

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = self.0.iter();
        let each = each.map(|(number, choice)| format!("{number}:{choice:?}"));
        f.write_str(&each.collect::<Vec<_>>().join(","))
    }
}

impl FromStr for Plan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = |part: &str| {
            let (number, name) = part.split_once(':')?;
            let mut all = Place::ALL.iter().flat_map(|place| place.choices());
            let choice = all.find(|choice| format!("{choice:?}") == name)?;
            Some((number.parse().ok()?, *choice))
        };
        let parts = text.split(',').filter(|part| !part.is_empty());
        let plan = parts.map(|part| one(part).ok_or_else(|| format!("{part:?} is no choice")));
        Ok(Self(plan.collect::<Result<_, _>>()?))
    }
}

/// A place that was passed, at which nothing was chosen.
#[derive(Clone, Debug)]
pub(crate) struct Passed {
    pub(crate) number: usize,
    pub(crate) place: Place,
    /// The same for places at which it is the same to choose.
    pub(crate) key: u64,
}

/// A run's choices, made and to be made.
#[derive(Debug)]
pub(crate) struct Script {
    plan: BTreeMap<usize, Choice>,
    /// How many places were passed.
    count: usize,
    /// When places are passed at which something can be chosen.
    open: (Time, Time),
    /// What was so before the step that is played, and which place in it is next.
    sketch: u64,
    in_step: u32,
    passed: Vec<Passed>,
    again: Option<Millis>,
    /// What was chosen, in words, with its time.
    pub(crate) told: Vec<String>,
    /// When something was last chosen.
    pub(crate) last: Option<Time>,
}

impl Script {
    pub(crate) fn new(plan: &Plan, open: (Time, Time)) -> Self {
        Self {
            plan: plan.0.iter().copied().collect(),
            count: 0,
            open,
            sketch: 0,
            in_step: 0,
            passed: Vec::new(),
            again: None,
            told: Vec::new(),
            last: None,
        }
    }

    /// Whether all that was to be chosen is.
    pub(crate) fn is_through(&self) -> bool {
        self.plan.range(self.count..).next().is_none()
    }

    /// A step begins, before which that is so.
    pub(crate) fn begin_step(&mut self, sketch: &str) {
        self.sketch = hash(&sketch);
        self.in_step = 0;
    }

    /// A place is passed: what is chosen there.
    pub(crate) fn pass(&mut self, place: Place, what: &str, now: Time) -> Option<Choice> {
        if now < self.open.0 || self.open.1 < now {
            return None;
        }
        let number = self.count;
        self.count += 1;
        self.in_step += 1;
        if let Some(choice) = self.plan.get(&number) {
            self.told.push(format!("at {}: {choice:?} {what}", now.0));
            self.last = Some(now);
            return Some(*choice);
        }
        if self.is_through() {
            let key = hash(&(self.sketch, self.in_step, place, what));
            self.passed.push(Passed { number, place, key });
        }
        None
    }

    /// Whether the place that was passed last is one of these.
    pub(crate) fn is_at(&self, known: &BTreeSet<u64>) -> bool {
        let last = self.passed.last();
        last.is_some_and(|passed| known.contains(&passed.key))
    }

    /// The places that were passed after the last at which something was chosen.
    pub(crate) fn take_passed(&mut self) -> Vec<Passed> {
        std::mem::take(&mut self.passed)
    }
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Chooses by a script.
#[derive(Clone, Debug)]
pub(crate) struct Reader(pub(crate) Arc<Mutex<Script>>);

impl Chooser for Reader {
    fn fate(&mut self, sent: Sent<'_>, now: Time) -> Fate {
        let mut script = self.0.lock().unwrap();
        script.again = None;
        let (place, what) = match sent {
            // What is said of objects holds nobody up.
            Sent::Other(Request::Say(..)) => return well(Millis(0)),
            Sent::Other(read @ Request::Read(_)) => (Place::Read, format!("{read:?}")),
            Sent::Other(write) => (Place::Write, format!("{write:?}")),
            Sent::Lease(election::Request::Read) => (Place::LeaseRead, "reading the Lease".into()),
            Sent::Lease(_) => (Place::LeaseWrite, "writing the Lease".into()),
        };
        let lost = |lands_in, answers_in| Fate {
            lands_in,
            answers_in,
            instead: Some(Answer::Lost),
        };
        let status = |lands_in, code: u16, message: &str| Fate {
            lands_in,
            answers_in: Millis(2 * WAY.0),
            instead: Some(Answer::Status {
                code,
                message: message.to_owned(),
                retry_after: None,
            }),
        };
        match script.pass(place, &what, now) {
            Some(Choice::Lost) => lost(None, SILENCE),
            Some(Choice::Unheard) => lost(Some(WAY), SILENCE),
            Some(Choice::Late) => lost(Some(LATE), BREAKS),
            Some(Choice::Broken) => status(Some(WAY), 503, "server error"),
            Some(Choice::Refused) => status(None, 422, "denied by a policy"),
            Some(Choice::Twice) => {
                script.again = Some(LATE);
                well(WAY)
            }
            _ => well(WAY),
        }
    }

    fn again(&mut self) -> Option<Millis> {
        self.0.lock().unwrap().again.take()
    }

    fn lag(&mut self, stream: Stream, now: Time) -> Millis {
        if !matches!(stream, Stream::Pods | Stream::Gangs) {
            return Millis(0);
        }
        let what = format!("news of {stream:?}");
        let chosen = self.0.lock().unwrap().pass(Place::News, &what, now);
        chosen.map_or(Millis(0), |_| LATE_NEWS)
    }
}

const fn well(way: Millis) -> Fate {
    Fate {
        lands_in: Some(way),
        answers_in: Millis(2 * way.0),
        instead: None,
    }
}
