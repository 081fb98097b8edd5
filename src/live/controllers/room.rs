//! For how many of a controller's writes there is room: what is free, shared by namespaces as binds and evictions share.

use muster_cluster::shares::Shares;
use muster_controllers::Room;
use muster_model::units::Time;
use std::cell::Cell;

/// Of so many in all, how many one namespace may have at a time, however it does: the rest is for the others.
pub(super) fn of_each(in_flight: usize) -> usize {
    (in_flight - in_flight / 4).max(1)
}

/// What is left of it now.
pub(super) struct Left<'a> {
    shares: &'a mut Shares,
    free: usize,
    /// How many there are in all.
    slots: usize,
    /// Who may be in trouble lets the others go first.
    prefers: bool,
    has_passed_over: Cell<bool>,
    now: Time,
}

impl<'a> Left<'a> {
    /// So many are free of so many.
    pub(super) const fn new(
        shares: &'a mut Shares,
        (free, slots): (usize, usize),
        prefers: bool,
        now: Time,
    ) -> Self {
        Self {
            shares,
            free,
            slots,
            prefers,
            has_passed_over: Cell::new(false),
            now,
        }
    }

    /// Whether somebody got nothing who lets others go first.
    pub(super) const fn has_passed_over(&self) -> bool {
        self.has_passed_over.get()
    }
}

impl Room for Left<'_> {
    fn is_full(&self) -> bool {
        self.free == 0
    }

    fn has(&self, namespace: &str) -> bool {
        if self.is_full() {
            return false;
        }
        let may = self.shares.may_begin_among(self.slots, namespace, self.now);
        if may && self.prefers && self.shares.gives_way(namespace, self.now) {
            self.has_passed_over.set(true);
            return false;
        }
        may
    }

    fn take(&mut self, namespace: &str) {
        self.free = self.free.saturating_sub(1);
        self.shares.begin(namespace);
    }
}
