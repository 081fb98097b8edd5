//! Plugins of a program that has Muster in it.

use super::Profile;
use std::fmt;
use std::sync::Arc;

/// A plugin that is added to the built-in ones, at all its points.
///
/// It is made anew for each scheduler: what it keeps is what that scheduler told it.
#[derive(Clone)]
pub struct Addition {
    name: &'static str,
    make: Arc<dyn Fn() -> Profile + Send + Sync>,
}

impl Addition {
    /// A plugin by its name, and what makes it: a profile that has it at its points and nothing else.
    #[must_use]
    pub fn new(name: &'static str, make: impl Fn() -> Profile + Send + Sync + 'static) -> Self {
        let make = Arc::new(make);
        Self { name, make }
    }

    /// What the configuration calls it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Makes it.
    #[must_use]
    pub fn make(&self) -> Profile {
        (self.make)()
    }
}

impl fmt::Debug for Addition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Profile {
    /// Adds the plugins of another: before those that are there where the first that speaks decides
    /// (QueueSort, domains, Bind), after them elsewhere.
    pub fn add(&mut self, mut more: Self) {
        more.queue_sort.append(&mut self.queue_sort);
        more.gang_domains.append(&mut self.gang_domains);
        more.bind.append(&mut self.bind);
        self.queue_sort = more.queue_sort;
        self.gang_domains = more.gang_domains;
        self.bind = more.bind;
        self.domain_order = more.domain_order.or(self.domain_order.take());
        self.pre_enqueue.append(&mut more.pre_enqueue);
        self.pre_filter.append(&mut more.pre_filter);
        self.filter.append(&mut more.filter);
        self.victims.append(&mut more.victims);
        self.post_filter.append(&mut more.post_filter);
        self.pre_score.append(&mut more.pre_score);
        self.score.append(&mut more.score);
        self.reserve.append(&mut more.reserve);
        self.permit.append(&mut more.permit);
        self.pre_bind.append(&mut more.pre_bind);
        self.post_bind.append(&mut more.post_bind);
        self.events.append(&mut more.events);
    }
}
