//! One gang over time: in which state it was from when on, and what befell it.

use muster_core::state::ClusterState;
use muster_model::GangKey;
use muster_model::units::Time;
use std::sync::Arc;

/// So many spans of a gang are kept.
pub const MAX_SPANS: usize = 128;
/// From so many on, only those of another state, and not those of another size.
const MANY_SPANS: usize = 64;
/// So many marks of a gang are kept.
pub const MAX_MARKS: usize = 32;

/// How a gang is. The numbers stand in the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits for its pods or for a place.
    Waiting = 0,
    /// Some members are bound, and a minimum is not met.
    Partial = 1,
    /// Every minimum is met.
    Running = 2,
    /// It waits because it made room for somebody.
    Preempted = 3,
    /// It waits because it could not be completed, or lost members.
    Released = 4,
    /// It has no pods any more.
    Over = 5,
}

/// What befell a gang. The numbers stand in the page, which has a line for each in its table of
/// marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// Pods made room for somebody.
    Preempted = 0,
    /// Pods were taken off their nodes because the gang could not be completed.
    Released = 1,
    /// Pods went with their node.
    Lost = 2,
}

impl MarkKind {
    /// Whether pods lost their nodes: then the gang may have to wait for that reason.
    const fn takes_pods(self) -> bool {
        match self {
            Self::Preempted | Self::Released | Self::Lost => true,
        }
    }
}

/// Where a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seat {
    /// It waits.
    Waiting,
    /// It is on a node.
    Bound,
    /// It is on a node and told to go.
    Leaving,
    /// It ended, or was deleted.
    Ended,
}

/// A time in which a gang was the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// From when on.
    pub from: Time,
    /// How it was.
    pub state: State,
    /// How many of its pods were on nodes.
    pub pods: u32,
}

/// Something that befell a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at: Time,
    /// What.
    pub kind: MarkKind,
    /// To how many of its pods.
    pub pods: u32,
    /// For whose sake, by number.
    pub by: Option<usize>,
    /// In words.
    pub text: Arc<str>,
}

/// What a gang did.
#[derive(Debug)]
pub struct GangStory {
    /// Its key; of a pod without a PodGroup, that of the first pod of its name.
    pub key: GangKey,
    /// The line of the only pod of a gang without a PodGroup.
    pub single: Option<usize>,
    /// The lines of its pods.
    pub lines: Vec<usize>,
    /// How many must run.
    pub min: u32,
    /// Its queue and its priority, as the scheduler found them when it decided.
    pub standing: Option<(String, i32)>,
    /// When the first object of it was submitted.
    pub submitted: Time,
    /// How it was, in the order of time.
    pub spans: Vec<Span>,
    /// What befell it, in the order of time.
    pub marks: Vec<Mark>,
    /// Its PodGroup exists.
    pub(super) exists: bool,
    waiting: u32,
    bound: u32,
    leaving: u32,
    /// What it was off its nodes for, until it runs again.
    fell: Option<MarkKind>,
    thinned: bool,
}

impl GangStory {
    pub(super) fn new(key: GangKey, now: Time) -> Self {
        let waits = Span {
            from: now,
            state: State::Waiting,
            pods: 0,
        };
        Self {
            key,
            single: None,
            lines: Vec::new(),
            min: 0,
            standing: None,
            submitted: now,
            spans: vec![waits],
            marks: Vec::new(),
            exists: false,
            waiting: 0,
            bound: 0,
            leaving: 0,
            fell: None,
            thinned: false,
        }
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.state() == State::Over
    }

    /// How it is now.
    #[must_use]
    pub fn state(&self) -> State {
        self.spans.last().map_or(State::Waiting, |span| span.state)
    }

    /// Whether more happened to it than was kept.
    #[must_use]
    pub const fn is_thinned(&self) -> bool {
        self.thinned
    }

    /// When it ran for the first time.
    #[must_use]
    pub fn first_ran_at(&self) -> Option<Time> {
        let ran = |span: &&Span| span.state == State::Running;
        self.spans.iter().find(ran).map(|span| span.from)
    }

    /// Whether it ever made room for somebody.
    #[must_use]
    pub fn was_preempted(&self) -> bool {
        let mut marks = self.marks.iter();
        marks.any(|mark| mark.kind == MarkKind::Preempted)
    }

    /// A pod left one seat and has another.
    pub(super) const fn count(&mut self, old: Option<Seat>, new: Option<Seat>) {
        if let Some(seat) = old
            && let Some(count) = self.seat(seat)
        {
            *count = count.saturating_sub(1);
        }
        if let Some(seat) = new
            && let Some(count) = self.seat(seat)
        {
            *count += 1;
        }
    }

    const fn seat(&mut self, seat: Seat) -> Option<&mut u32> {
        match seat {
            Seat::Waiting => Some(&mut self.waiting),
            Seat::Bound => Some(&mut self.bound),
            Seat::Leaving => Some(&mut self.leaving),
            Seat::Ended => None,
        }
    }

    /// Finds out how it is; `whole` says whether every minimum is met.
    pub(super) fn judge(&mut self, whole: bool, now: Time) {
        let live = self.waiting + self.bound + self.leaving;
        let was_there = !self.lines.is_empty() || !self.exists;
        let state = if live == 0 && was_there {
            State::Over
        } else if whole && self.bound > 0 {
            State::Running
        } else {
            match self.fell {
                Some(MarkKind::Preempted) => State::Preempted,
                Some(MarkKind::Released | MarkKind::Lost) => State::Released,
                None if self.bound > 0 => State::Partial,
                None => State::Waiting,
            }
        };
        if matches!(state, State::Running | State::Over) {
            self.fell = None;
        }
        self.enter(Span {
            from: now,
            state,
            pods: self.bound,
        });
    }

    /// Begins a span. What lasted for no time at all is not kept.
    fn enter(&mut self, span: Span) {
        if self.spans.len() > 1 && self.spans.last().is_some_and(|last| last.from == span.from) {
            self.spans.pop();
        }
        let count = self.spans.len();
        let Some(last) = self.spans.last_mut() else {
            return;
        };
        let same = (last.state, last.pods) == (span.state, span.pods);
        let is_first = count == 1 && last.from == span.from;
        if same {
        } else if is_first {
            *last = span;
        } else if count < MANY_SPANS || (count < MAX_SPANS && last.state != span.state) {
            self.spans.push(span);
        } else {
            // How it ends is always shown.
            (last.state, last.pods) = (span.state, span.pods);
            self.thinned = true;
        }
    }

    pub(super) fn mark(&mut self, mark: Mark) {
        if mark.kind.takes_pods() {
            self.fell = Some(mark.kind);
        }
        if let Some(last) = self.marks.last_mut()
            && (last.at, last.kind, &last.text) == (mark.at, mark.kind, &mark.text)
        {
            last.pods += mark.pods;
        } else if self.marks.len() < MAX_MARKS {
            self.marks.push(mark);
        } else {
            self.thinned = true;
        }
    }

    /// Takes down its queue and its priority, once.
    pub(super) fn learn(&mut self, key: &GangKey, state: &ClusterState) {
        if self.standing.is_none()
            && let Some(id) = state.find_gang(key)
            && let Some(gang) = state.gang(id)
        {
            let queue = state.queue_name(id);
            self.standing = (!queue.is_empty()).then(|| (queue.to_owned(), gang.priority));
        }
    }
}
