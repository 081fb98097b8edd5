//! From plugins in other processes to what the core asks of them; what cannot be honoured is refused.

use super::remote::{Extender, RemotePlugin};
use super::{ConfigError, SchedulerConfiguration};
use muster_core::framework::{Profile, Remote};
use muster_core::plugins::join;
use muster_model::RemotePoint;
use muster_model::units::Millis;

/// For how long what an extender said of nodes is believed at most.
const EXTENDER_HOLDS: Millis = Millis(10_000);

impl SchedulerConfiguration {
    /// Plugins in other processes as the core knows them: first those with Muster's own messages, then
    /// extenders.
    ///
    /// # Errors
    /// What cannot be honoured, and why.
    pub fn remotes(&self) -> Result<Vec<Remote>, ConfigError> {
        let plugins = self.remote_plugins.iter().enumerate();
        let plugins = plugins.map(|(index, one)| plugin(index, one));
        let extenders = self.extenders.iter().enumerate();
        let extenders = extenders.map(|(index, one)| extender(index, one));
        let remotes: Vec<Remote> = plugins.chain(extenders).collect::<Result<_, _>>()?;
        let binds = |one: &Remote| one.points.contains(&RemotePoint::Bind);
        let mut binders = (0..remotes.len()).filter(|index| binds(&remotes[*index]));
        if let Some(index) = binders.nth(1) {
            let field = match index.checked_sub(self.remote_plugins.len()) {
                None => format!("remotePlugins[{index}].points: Bind"),
                Some(index) => format!("extenders[{index}].bindVerb"),
            };
            let why = "another one binds already, and who binds a pod has to be certain";
            return Err(unsupported(field, why));
        }
        Ok(remotes)
    }

    /// Has a profile ask plugins in other processes.
    pub(super) fn add_remotes(&self, profile: &mut Profile) -> Result<(), ConfigError> {
        for remote in self.remotes()? {
            join(profile, remote);
        }
        Ok(())
    }
}

fn unsupported(field: String, why: &'static str) -> ConfigError {
    ConfigError::Unsupported { field, why }
}

fn plugin(index: usize, plugin: &RemotePlugin) -> Result<Remote, ConfigError> {
    let points = plugin.points.clone();
    let asks = |point| points.contains(&point);
    if asks(RemotePoint::Unreserve) && !asks(RemotePoint::Reserve) {
        let field = format!("remotePlugins[{index}].points: Unreserve");
        let why = "without Reserve there is nothing to give back";
        return Err(unsupported(field, why));
    }
    Ok(Remote {
        name: plugin.name.as_str().into(),
        points,
        weight: plugin.weight.get().into(),
        ignorable: plugin.ignorable,
        at_most: plugin.timeout.millis(),
        permit_at_most: plugin.permit_timeout.millis(),
        holds: plugin.answers_hold.millis(),
        depends_on_pods: plugin.depends_on_pods,
        node_labels: plugin.node_labels.clone(),
        resources: Vec::new(),
        unchecked: Vec::new(),
    })
}

/// kube-scheduler reads an empty verb as none.
const fn is_given(verb: &str) -> bool {
    !verb.is_empty()
}

fn extender(index: usize, extender: &Extender) -> Result<Remote, ConfigError> {
    let field = |name: &str| format!("extenders[{index}].{name}");
    if extender.preempt_verb.as_deref().is_some_and(is_given) {
        let why = "Muster has whole gangs make room; an extender has no say in that";
        return Err(unsupported(field("preemptVerb"), why));
    }
    let managed = extender.managed_resources.iter().enumerate();
    let unchecked = managed.filter(|(_, one)| one.ignored_by_scheduler);
    // As kube-scheduler has it: what every node has is looked at in any case.
    if let Some((index, _)) = unchecked.clone().find(|(_, one)| !one.name.contains('/')) {
        let field = field(&format!("managedResources[{index}].ignoredByScheduler"));
        let why = "only of extended resources, whose names have a domain, others may look after";
        return Err(unsupported(field, why));
    }
    let verbs = [
        (RemotePoint::Filter, &extender.filter_verb),
        (RemotePoint::Score, &extender.prioritize_verb),
        (RemotePoint::Bind, &extender.bind_verb),
    ];
    let points = verbs
        .iter()
        .filter(|(_, verb)| verb.as_deref().is_some_and(is_given));
    let points: Vec<RemotePoint> = points.map(|(point, _)| *point).collect();
    if points.is_empty() {
        let why =
            "neither filterVerb, prioritizeVerb nor bindVerb is given: there is nothing to ask";
        return Err(unsupported(format!("extenders[{index}]"), why));
    }
    let managed = extender.managed_resources.iter();
    Ok(Remote {
        name: extender.url_prefix.as_str().into(),
        points,
        weight: extender.weight.get().into(),
        ignorable: extender.ignorable,
        at_most: extender.http_timeout.millis(),
        permit_at_most: Millis(0),
        holds: EXTENDER_HOLDS,
        depends_on_pods: true,
        node_labels: Vec::new(),
        resources: managed.map(|one| one.name.clone()).collect(),
        unchecked: unchecked.map(|(_, one)| one.name.clone()).collect(),
    })
}
