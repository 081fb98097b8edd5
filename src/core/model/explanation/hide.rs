//! What somebody is told who may not read what other namespaces have: how many there are and what they hold, and neither the
//! names of their gangs and pods nor what is said of them.

use super::{Asked, GangExplanation, QueueExplanation, Reason, SlotLine, SlotWaiter, SparedCount};
use super::{TestbedExplanation, Waits};

const GANG: &str = "a gang of another namespace";
const POD: &str = "a pod of another namespace";

/// For who may read the gangs of one namespace, or of none.
#[derive(Clone, Copy)]
struct Reader<'a>(Option<&'a str>);

impl GangExplanation {
    /// Without what gangs of other namespaces than this are called.
    pub fn hide_others(&mut self, namespace: Option<&str>) {
        let reader = Reader(namespace);
        if let Some(waits) = &mut self.waits {
            reader.hide_in_waits(waits);
        }
        if let Some(by) = self.disruption.as_mut().and_then(|one| one.by.as_mut()) {
            reader.hide(by);
        }
    }
}

impl QueueExplanation {
    /// Without what gangs of other namespaces than this are called.
    pub fn hide_others(&mut self, namespace: Option<&str>) {
        let reader = Reader(namespace);
        let holders = self.holders.iter_mut();
        holders.for_each(|one| _ = reader.hide(&mut one.name));
        reader.hide_spared(&mut self.spared);
        let mut hidden = self.first.iter_mut().map(|one| reader.hide(one));
        let is_head_hidden = hidden.next() == Some(true);
        hidden.for_each(drop);
        if let Some(head) = self.head.as_mut().filter(|_| is_head_hidden) {
            head.message.clear();
        }
    }
}

impl TestbedExplanation {
    /// Without what gangs and pods of other namespaces than this are called.
    pub fn hide_others(&mut self, namespace: Option<&str>) {
        let reader = Reader(namespace);
        for SlotLine { pod, waiting, .. } in &mut self.slots {
            if let Some(pod) = pod.as_mut().filter(|pod| !reader.may_read(pod)) {
                POD.clone_into(pod);
            }
            waiting.iter_mut().for_each(|one| _ = reader.hide(one));
        }
        for SlotWaiter { name, refused, .. } in &mut self.waiting {
            if reader.hide(name) {
                *refused = None;
            }
        }
    }
}

impl Reader<'_> {
    /// Whether somebody called `namespace/name` is in the namespace.
    fn may_read(self, title: &str) -> bool {
        let of = title.split_once('/').map(|(namespace, _)| namespace);
        of.is_some() && of == self.0
    }

    /// Says whether it is hidden.
    fn hide(self, title: &mut String) -> bool {
        let hidden = !title.is_empty() && !self.may_read(title);
        if hidden {
            GANG.clone_into(title);
        }
        hidden
    }

    fn hide_in_waits(self, waits: &mut Waits) {
        let ahead = &mut waits.ahead;
        ahead.first.iter_mut().for_each(|one| _ = self.hide(one));
        if let Some(Reason { name, message }) = &mut ahead.held_back
            && self.hide(name)
        {
            message.clear();
        }
        if let Some(asked) = &mut waits.asked {
            self.hide_in_asked(asked);
        }
        let holders = waits.place.iter_mut().flat_map(|one| &mut one.holders);
        holders.for_each(|one| _ = self.hide(&mut one.name));
        if let Some(kept_for) = &mut waits.kept_for {
            self.hide(&mut kept_for.first);
        }
    }

    fn hide_in_asked(self, asked: &mut Asked) {
        asked.go_of.iter_mut().for_each(|one| _ = self.hide(one));
        if let Some(example) = &mut asked.example {
            self.hide(example);
        }
        self.hide_spared(&mut asked.spared);
    }

    fn hide_spared(self, spared: &mut [SparedCount]) {
        let examples = spared.iter_mut().map(|one| &mut one.example);
        examples.for_each(|one| _ = self.hide(one));
    }
}
