//! From a configuration to what the core decides by, and for whom.

use super::values::{FilterPoint, PluginName, Point, QueueSortPoint, ScorePoint};
use super::{ConfigError, SchedulerConfiguration, Usage};
use crate::core::engine::{MoveLimits, Policy};
use crate::core::framework::{Addition, Plugin, Profile, Weighted};
use crate::core::plugins::registry;
use crate::core::resources::{Measure, Worth};
use std::sync::Arc;

impl SchedulerConfiguration {
    /// Whose pods are scheduled: values of `spec.schedulerName`.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let names = self.scheduler_names.iter().cloned();
        names.map(String::from).collect()
    }

    fn moves(&self) -> Option<MoveLimits> {
        let chosen = &self.defragmentation;
        chosen.enabled.then(|| MoveLimits {
            max_pods: chosen.max_pods.get(),
            after: chosen.after.millis(),
            interval: chosen.interval.millis(),
            rest: chosen.rest.millis(),
            hold: chosen.hold.millis(),
        })
    }

    fn worth(&self) -> Worth {
        let of_unit = self.usage_weights.iter();
        Worth {
            measure: match self.usage {
                Usage::Weighted => Measure::Weighted,
                Usage::Dominant => Measure::Dominant,
            },
            of_unit: of_unit
                .map(|(name, worth)| (name.clone(), worth.millionths()))
                .collect(),
        }
    }

    /// What the core decides by. Points that the file cannot set keep their default plugins.
    ///
    /// # Errors
    /// When a plugin's name is not in the registry: not after reading a file, which checks them.
    pub fn policy(&self) -> Result<Policy, ConfigError> {
        self.policy_with(&[])
    }

    /// The same, with the plugins that the file chooses of those that the program offers.
    ///
    /// # Errors
    /// When it names one that is not offered.
    pub fn policy_with(&self, offers: &[Addition]) -> Result<Policy, ConfigError> {
        let chosen = &self.profile;
        let sorts = registry::queue_sorts();
        let filters = registry::filters();
        let scores = registry::scores();
        let score = |one: &super::WeightedPlugin| {
            Ok(Weighted {
                plugin: pick::<_, ScorePoint>(&scores, &one.name)?,
                weight: i64::from(one.weight.get()),
            })
        };
        let mut profile = Profile {
            queue_sort: pick_all::<_, QueueSortPoint>(&sorts, &chosen.queue_sort)?,
            filter: registry::with_the_gangs_own(pick_all::<_, FilterPoint>(
                &filters,
                &chosen.filter,
            )?),
            score: chosen.score.iter().map(score).collect::<Result<_, _>>()?,
            pre_bind: vec![registry::volume_binding(self.volume_bind_timeout.millis())],
            ..registry::default_profile()
        };
        self.add_remotes(&mut profile)?;
        Ok(Policy {
            profile,
            sweep_interval: self.sweep_interval.millis(),
            worth: self.worth(),
            half_life: self.half_life.millis(),
            default_queue: self.default_queue,
            moves: self.moves(),
            additions: additions(&chosen.plugins, offers)?,
        })
    }
}

/// The plugins that are chosen of those that are offered.
fn additions(names: &[String], offers: &[Addition]) -> Result<Vec<Addition>, ConfigError> {
    let pick = |name: &String| {
        let found = offers.iter().find(|one| one.name() == name.as_str());
        found.cloned().ok_or_else(|| ConfigError::UnknownPlugin {
            point: "plugins",
            name: name.clone(),
        })
    };
    names.iter().map(pick).collect()
}

fn pick_all<T: Plugin + ?Sized, P: Point>(
    known: &[Arc<T>],
    names: &[PluginName<P>],
) -> Result<Vec<Arc<T>>, ConfigError> {
    names.iter().map(|name| pick(known, name)).collect()
}

fn pick<T: Plugin + ?Sized, P: Point>(
    known: &[Arc<T>],
    name: &PluginName<P>,
) -> Result<Arc<T>, ConfigError> {
    let found = known.iter().find(|one| one.name() == name.as_str());
    found
        .map(Arc::clone)
        .ok_or_else(|| ConfigError::UnknownPlugin {
            point: P::NAME,
            name: name.as_str().to_owned(),
        })
}
