//! What is used on which node, and how much of the cluster that is over time.

use muster_model::units::Time;
use muster_model::{Amounts, NodeSpec};
use std::collections::BTreeMap;

/// Amounts in use and on offer, added up over time.
#[derive(Debug, Default)]
pub struct Usage {
    /// Used amounts by node name, whether or not the node exists.
    nodes: BTreeMap<String, Amounts>,
    /// One line a resource, in the order of their first appearance.
    totals: Vec<Total>,
    since: Time,
}

/// One resource over the whole cluster.
#[derive(Debug, Default)]
struct Total {
    resource: String,
    used: i128,
    offered: i128,
    used_ms: i128,
    offered_ms: i128,
}

impl Total {
    #[expect(clippy::cast_precision_loss, reason = "a ratio for the reader")]
    fn ratio(&self) -> Option<f64> {
        let (used, offered) = if self.offered_ms > 0 {
            (self.used_ms, self.offered_ms)
        } else {
            (self.used, self.offered)
        };
        (offered > 0).then(|| used as f64 / offered as f64)
    }
}

impl Usage {
    /// Nothing used so far, from a time on.
    #[must_use]
    pub fn from(since: Time) -> Self {
        Self {
            since,
            ..Self::default()
        }
    }

    /// A pod takes room on a node.
    pub fn take(&mut self, node: &str, requests: &Amounts, now: Time) {
        self.change(node, requests, 1, now);
    }

    /// A pod leaves a node.
    pub fn give(&mut self, node: &str, requests: &Amounts, now: Time) {
        self.change(node, requests, -1, now);
    }

    /// A node appears.
    pub fn offer(&mut self, allocatable: &Amounts, now: Time) {
        self.advance(now);
        for (resource, amount) in allocatable {
            self.total(resource).offered += i128::from(*amount);
        }
    }

    /// A node goes.
    pub fn withdraw(&mut self, allocatable: &Amounts, now: Time) {
        self.advance(now);
        for (resource, amount) in allocatable {
            self.total(resource).offered -= i128::from(*amount);
        }
    }

    /// The first resource that a pod requests and of which more is used on the node than it has,
    /// with used and offered.
    #[must_use]
    pub fn excess(&self, node: &NodeSpec, requests: &Amounts) -> Option<(String, i64, i64)> {
        let requested = requests.iter().filter(|(_, amount)| *amount > 0);
        let mut names = requested.map(|(name, _)| name.as_str()).chain(["pods"]);
        names.find_map(|name| {
            let offered = node.allocatable.iter().find(|(one, _)| one == name);
            let offered = offered.map_or(0, |(_, amount)| (*amount).max(0));
            let used = self.used_on(&node.name, name);
            (used > offered).then(|| (name.to_owned(), used, offered))
        })
    }

    /// What is used on a node.
    #[must_use]
    pub fn used_on(&self, node: &str, resource: &str) -> i64 {
        let used = self.nodes.get(node).and_then(|amounts| {
            let mut amounts = amounts.iter();
            amounts.find(|(name, _)| name == resource)
        });
        used.map_or(0, |(_, amount)| *amount)
    }

    /// Used of offered from zero to `end` by resource, as the mean over time; of what was on offer
    /// for no time at all, as it is at `end`. What no node ever offered is left out.
    pub fn utilisation(&mut self, end: Time) -> BTreeMap<String, f64> {
        self.advance(end);
        let totals = self.totals.iter();
        totals
            .filter_map(|total| Some((total.resource.clone(), total.ratio()?)))
            .collect()
    }

    fn change(&mut self, node: &str, requests: &Amounts, sign: i64, now: Time) {
        self.advance(now);
        let one = [("pods".to_owned(), 1)];
        let mut used = self.nodes.remove(node).unwrap_or_default();
        for (resource, amount) in requests.iter().chain(&one) {
            let amount = amount.saturating_mul(sign);
            self.total(resource).used += i128::from(amount);
            match used.iter_mut().find(|(name, _)| name == resource) {
                Some((_, sum)) => *sum = sum.saturating_add(amount),
                None => used.push((resource.clone(), amount)),
            }
        }
        self.nodes.insert(node.to_owned(), used);
    }

    fn total(&mut self, resource: &str) -> &mut Total {
        let found = self.totals.iter().position(|one| one.resource == resource);
        let index = found.unwrap_or_else(|| {
            self.totals.push(Total {
                resource: resource.to_owned(),
                ..Total::default()
            });
            self.totals.len() - 1
        });
        &mut self.totals[index]
    }

    fn advance(&mut self, now: Time) {
        let span = i128::from(now.since(self.since).0);
        if span == 0 {
            return;
        }
        for total in &mut self.totals {
            total.used_ms += total.used * span;
            total.offered_ms += total.offered * span;
        }
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(amount: i64) -> Amounts {
        vec![("cpu".to_owned(), amount)]
    }

    #[test]
    fn utilisation_is_the_mean_over_time() {
        let mut usage = Usage::default();
        usage.offer(&cpu(1000), Time(0));
        usage.take("n", &cpu(500), Time(10_000));
        usage.give("n", &cpu(500), Time(30_000));
        let ratio = usage.utilisation(Time(40_000))["cpu"];
        assert!((ratio - 0.25).abs() < 1e-9, "{ratio}");
    }

    #[test]
    fn utilisation_of_no_time_is_that_of_the_moment() {
        let mut usage = Usage::default();
        usage.offer(&cpu(1000), Time(0));
        usage.take("n", &cpu(500), Time(0));
        let ratio = usage.utilisation(Time(0))["cpu"];
        assert!((ratio - 0.5).abs() < 1e-9, "{ratio}");
        // The pod was counted as one, and no node offers pods.
        assert_eq!(usage.utilisation(Time(0)).len(), 1);
        usage.withdraw(&cpu(1000), Time(0));
        assert!(usage.utilisation(Time(0)).is_empty());
    }

    #[test]
    fn an_overcommitted_node_is_found() {
        let mut usage = Usage::default();
        usage.take("n", &cpu(700), Time(0));
        let node = NodeSpec {
            name: "n".to_owned(),
            allocatable: vec![("cpu".to_owned(), 1000), ("pods".to_owned(), 2)],
            ..NodeSpec::default()
        };
        assert_eq!(usage.excess(&node, &cpu(700)), None);
        usage.take("n", &cpu(301), Time(0));
        let too_much = Some(("cpu".into(), 1001, 1000));
        assert_eq!(usage.excess(&node, &cpu(301)), too_much);
        // Who asks for none of it has not made it so.
        assert_eq!(usage.excess(&node, &cpu(0)), None);
        usage.take("n", &cpu(0), Time(0));
        let too_many = Some(("pods".into(), 3, 2));
        assert_eq!(usage.excess(&node, &cpu(0)), too_many);
    }
}
