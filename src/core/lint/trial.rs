//! What would be wrong with places if somebody took them: for who asks whether pods that wait could be
//! bound, by the same checks that a plan is looked at with.

use super::Note;
use super::account::Account;
use super::books::{Labels, SlotKey};
use super::checks;
use super::company::{in_company, may_be_first, too_near};
use super::places::near_enough;
use super::slots;
use super::spread::Spreads;
use muster_model::{Bind, Exemptions, GangKey, PodKey};
use std::collections::{BTreeMap, BTreeSet};

/// Places that are taken one after the other, on paper.
#[derive(Debug)]
pub struct Trial {
    account: Account,
    exempt: Exemptions,
    /// Those that were the first of their kind when they took their places.
    firsts: BTreeSet<PodKey>,
    taken: Vec<Bind>,
    /// The slots of those of them that claim some.
    slots: Vec<SlotKey>,
}

impl Trial {
    pub(super) const fn new(account: Account, exempt: Exemptions) -> Self {
        Self {
            account,
            exempt,
            firsts: BTreeSet::new(),
            taken: Vec::new(),
            slots: Vec::new(),
        }
    }

    /// Takes a place. Says what speaks against it with all that were taken before, and would with any that
    /// are taken after it; then it is not taken.
    pub fn take(&mut self, pod: &PodKey, node: &str) -> Option<Note> {
        let order = Bind {
            pod: pod.clone(),
            node: node.to_owned(),
            slot: None,
            completes: false,
            asks: None,
        };
        let mut exempt = self.exempt.clone();
        let claims = self.account.pod(pod).is_some_and(|pod| pod.claim.is_some());
        let slot = slots::may_be_had(&self.account, pod, node, &self.slots);
        if claims && slot.is_none() {
            return Some(format!("{pod} may have no slot on {node}"));
        }
        // Its room is its slot's.
        exempt.overcommit |= claims;
        let wrong = checks::bind(&self.account, &order);
        // Counted anew for each: there are few.
        let wrong = wrong.or_else(|| Spreads::default().look(&self.account, pod, node));
        if wrong.is_some() {
            return wrong;
        }
        if may_be_first(&self.account, pod) {
            self.firsts.insert(pod.clone());
        }
        self.place(pod, Some(node));
        let mut notes = checks::place(&self.account, &order, &exempt);
        notes.extend(too_near(&self.account, pod, node));
        notes.extend(slots::respected(&self.account, &[(pod, node)]));
        if let Some(note) = notes.into_iter().next() {
            self.place(pod, None);
            self.firsts.remove(pod);
            return Some(note);
        }
        self.taken.push(order);
        self.slots.extend(slot);
        None
    }

    /// Gives the last place back.
    pub fn give_back(&mut self) {
        if let Some(last) = self.taken.pop() {
            self.firsts.remove(&last.pod);
            self.place(&last.pod, None);
            let claims = self
                .account
                .pod(&last.pod)
                .is_some_and(|pod| pod.claim.is_some());
            if claims {
                self.slots.pop();
            }
        }
    }

    /// What speaks against all that was taken together.
    #[must_use]
    pub fn whole(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        let mut gangs: BTreeMap<&GangKey, Labels> = BTreeMap::new();
        for one in &self.taken {
            notes.extend(in_company(&self.account, &one.pod, &one.node, &self.firsts));
            if let Some(pod) = self.account.pod(&one.pod) {
                let labels = gangs.entry(&pod.gang).or_default();
                labels.insert(pod.subgroup.clone());
            }
        }
        for (gang, added_to) in gangs {
            notes.extend(checks::minimum_or_nothing(&self.account, gang, &added_to));
            notes.extend(near_enough(&self.account, gang, &added_to));
        }
        notes
    }

    fn place(&mut self, pod: &PodKey, node: Option<&str>) {
        let node = node.map(str::to_owned);
        self.account.change(pod, |pod| pod.ordered = node);
    }
}

#[cfg(test)]
mod tests {
    use crate::Linter;
    use muster_model::plain::{amounts, beside, group, key, member_of, node, pod, who_says};
    use muster_model::{
        ClaimKey, ClaimSpec, Event, GangSpec, HOSTNAME, HostPort, Labels, NodeSpec, Operator,
        PodKey, PodLabels, PodSpec, PodVolume, Requirement, Term, VolumeSpec,
    };

    fn known() -> Linter {
        let mut linter = Linter::default();
        for name in ["n0", "n1"] {
            linter.hear(&Event::is(NodeSpec {
                labels: Labels::from([(HOSTNAME.to_owned(), name.to_owned())]),
                ..node(name, amounts([("cpu", 2), ("pods", 9)]))
            }));
        }
        linter
    }

    fn member(name: &str) -> PodSpec {
        PodSpec {
            gang: member_of("g"),
            ..pod("a", name, amounts([("cpu", 1)]))
        }
    }

    fn says(linter: &Linter, spec: &PodSpec, node: &str) -> String {
        linter.trial().take(&spec.key, node).unwrap_or_default()
    }

    fn hear(linter: &mut Linter, spec: &PodSpec) -> PodKey {
        linter.hear(&Event::is(spec.clone()));
        spec.key.clone()
    }

    #[test]
    fn places_are_taken_one_after_the_other_and_judged_as_a_whole() {
        let mut linter = known();
        linter.hear(&Event::is(group(key("a", "g"), 3)));
        let pods = ["a", "b", "c"].map(|name| hear(&mut linter, &member(name)));
        let mut trial = linter.trial();
        assert_eq!(trial.take(&pods[0], "n0"), None);
        assert_eq!(trial.take(&pods[1], "n0"), None);
        let full = trial.take(&pods[2], "n0").unwrap();
        assert!(full.contains("node n0 would have 3 of 2 cpu"), "{full}");
        let in_part = trial.whole();
        assert!(in_part[0].contains("bound in part"), "{in_part:?}");
        assert_eq!(trial.take(&pods[2], "n1"), None);
        assert_eq!(trial.whole(), [""; 0]);
        trial.give_back();
        trial.give_back();
        assert_eq!(trial.take(&pods[2], "n0"), None);
        // Nothing of it was taken down.
        assert_eq!(linter.trial().take(&pods[0], "n0"), None);
    }

    #[test]
    fn who_wants_company_and_who_keeps_others_away_is_judged_with_all_that_are_tried() {
        let mut linter = known();
        linter.hear(&Event::is(group(key("a", "g"), 2)));
        let pods = ["a", "b"].map(|name| {
            let mut spec = member(name);
            spec.labels = PodLabels::new(&Labels::from([("app".to_owned(), "x".to_owned())]));
            spec.shape.pods.affinity = vec![beside("a", who_says("app", "x"), HOSTNAME)];
            hear(&mut linter, &spec)
        });
        let mut alone = pod("a", "alone", amounts([("cpu", 0)]));
        alone.shape.pods.anti_affinity = vec![beside("a", who_says("app", "x"), HOSTNAME)];
        hear(&mut linter, &alone);
        let mut trial = linter.trial();
        // The first may go where nobody is.
        assert_eq!(trial.take(&pods[0], "n0"), None);
        assert_eq!(trial.take(&pods[1], "n1"), None);
        assert!(trial.whole()[0].contains("nobody it has to be with"));
        trial.give_back();
        assert_eq!(trial.take(&pods[1], "n0"), None);
        assert_eq!(trial.whole(), [""; 0]);
        let near = trial.take(&alone.key, "n0").unwrap();
        assert!(near.contains("a/a on n0 is too near"), "{near}");
    }

    #[test]
    fn a_place_that_its_group_its_ports_or_its_volume_rule_out_is_found() {
        let mut linter = known();
        linter.hear(&Event::is(GangSpec {
            node_selector: Labels::from([(HOSTNAME.to_owned(), "n0".to_owned())]),
            ..group(key("a", "g"), 1)
        }));
        let chosen = member("chosen");
        hear(&mut linter, &chosen);
        assert_eq!(says(&linter, &chosen, "n0"), "");
        assert!(says(&linter, &chosen, "n1").contains("its PodGroup's selector"));

        let mut ports = ["p", "q"].map(|name| pod("a", name, amounts([("cpu", 1)])));
        for pod in &mut ports {
            pod.shape.host_ports = vec![HostPort {
                port: 80,
                ..HostPort::default()
            }];
        }
        ports[0].node = Some("n1".to_owned());
        ports.iter().for_each(|pod| _ = hear(&mut linter, pod));
        assert_eq!(says(&linter, &ports[1], "n0"), "");
        assert!(says(&linter, &ports[1], "n1").contains("a port that it takes"));

        let on_n1 = Term {
            labels: vec![Requirement {
                key: HOSTNAME.to_owned(),
                operator: Operator::In,
                values: vec!["n1".to_owned()],
            }],
            fields: Vec::new(),
        };
        linter.hear(&Event::is(VolumeSpec {
            name: "disk".to_owned(),
            affinity: Some(vec![on_n1]),
            ..VolumeSpec::default()
        }));
        let claim = |name: &str, volume: &str| ClaimSpec {
            key: ClaimKey {
                namespace: "a".to_owned(),
                name: name.to_owned(),
            },
            volume: volume.to_owned(),
            bind_completed: true,
            ..ClaimSpec::default()
        };
        linter.hear(&Event::is(claim("data", "disk")));
        let mut local = pod("a", "local", amounts([("cpu", 1)]));
        local.volumes = vec![PodVolume::Claim("data".to_owned())];
        hear(&mut linter, &local);
        let found = says(&linter, &local, "n0");
        assert!(found.contains("disk is not for that node"), "{found}");
    }
}
