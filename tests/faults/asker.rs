//! A plugin that asks somebody outside about some pods, at every point at which it may; and what must be
//! true of that at the end.

use crate::oracle::may_take_turns;
use muster::core::framework::{
    Addition, Ask, Permit, PermitVerdict, Plugin, PreBind, PreBindVerdict, Profile, Reserve,
    ReserveVerdict, Spots, WaitingGangs,
};
use muster::model::units::{Millis, Time};
use muster::model::{PodKey, Point};
use muster::sim::driver::Driver;
use std::sync::Arc;

/// Asks about some pods of a decision at a point: which follows from their names.
struct Asker(&'static str);

/// One for each point: each is undone by itself.
const ASKERS: [(&str, Point); 3] = [
    ("Reserver", Point::Reserve),
    ("Porter", Point::Permit),
    ("Fitter", Point::PreBind),
];

/// Whether something is asked about a pod.
fn asks(pod: &PodKey, point: Point) -> bool {
    let sum: usize = pod.name.bytes().map(usize::from).sum();
    match point {
        Point::Reserve => sum.is_multiple_of(3),
        Point::Permit => sum.is_multiple_of(4),
        _ => sum.is_multiple_of(2),
    }
}

impl Asker {
    fn ask(&self, spots: &Spots<'_>, point: Point) -> Option<Ask> {
        let mut about = spots.iter().filter(|spot| asks(spot.pod, point)).peekable();
        about.peek()?;
        let ask = Ask::of_plugin(self.0, point, String::new(), Millis(3_000));
        Some(ask.about(about).to_be_undone())
    }
}

impl Plugin for Asker {
    fn name(&self) -> &'static str {
        self.0
    }
}

impl Reserve for Asker {
    fn reserve(&self, spots: &Spots<'_>) -> ReserveVerdict {
        self.ask(spots, Point::Reserve)
            .map_or(ReserveVerdict::Done, ReserveVerdict::Ask)
    }

    fn unreserve(&self, _: &Spots<'_>) {}
}

impl Permit for Asker {
    fn permit(&self, spots: &Spots<'_>, _: Time, _: &mut WaitingGangs) -> PermitVerdict {
        self.ask(spots, Point::Permit)
            .map_or(PermitVerdict::Allow, PermitVerdict::Ask)
    }
}

impl PreBind for Asker {
    fn pre_bind(&self, spots: &Spots<'_>) -> PreBindVerdict {
        self.ask(spots, Point::PreBind)
            .map_or(PreBindVerdict::Agree, PreBindVerdict::Ask)
    }
}

pub(crate) fn addition() -> Addition {
    Addition::new("Asker", || {
        let [reserver, porter, fitter] = ASKERS.map(|(name, _)| Arc::new(Asker(name)));
        Profile {
            reserve: vec![reserver],
            permit: vec![porter],
            pre_bind: vec![fitter],
            ..Profile::default()
        }
    })
}

/// At the end nothing is left of what was asked in vain, and who is bound has all that was asked for.
/// Where a scheduler ended on the way, nobody knows what it had asked.
pub(crate) fn nothing_is_left_behind(driver: &Driver, with_askers: bool) -> Result<(), String> {
    let met = driver.met();
    if met.kills > 0 || met.deposed > 0 {
        return Ok(());
    }
    let server = driver.server();
    for (who, pod, node) in driver.outside().done() {
        let there = server.pod(pod).map(|pod| pod.spec.node.as_deref());
        match there {
            Some(Some(bound)) if bound != node => {
                return Err(format!(
                    "{who} did for {pod} on {node}, which is on {bound}"
                ));
            }
            // Where gangs take turns, a decision may be on its way whenever it ends.
            Some(None) if !may_take_turns(driver) => {
                return Err(format!("{who} did for {pod}, which waits"));
            }
            _ => {}
        }
    }
    if !with_askers {
        return Ok(());
    }
    for pod in server.pods().filter(|pod| pod.spec.ours && !pod.is_ghost()) {
        let Some(node) = &pod.spec.node else { continue };
        let key = &pod.spec.key;
        for (who, point) in ASKERS {
            let mut done = driver.outside().done();
            let is_done = done.any(|one| one == (who, key, node.as_str()));
            if asks(key, point) && !is_done {
                return Err(format!("{key} is on {node}, and {who} did nothing for it"));
            }
        }
    }
    Ok(())
}
