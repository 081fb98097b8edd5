//! From a configuration to what the core decides by, and for whom.

use super::values::{FilterPoint, PluginName, Point, QueueSortPoint, ScorePoint};
use super::{
    Base, ConfigError, NamedProfile, Plugins, PodGroupPriority, SchedulerConfiguration, Usage,
    WeightedPlugin,
};
use muster_api::{Ignored, Reading};
use muster_core::engine::{MoveLimits, Policy, Priorities};
use muster_core::framework::{Addition, Plugin, Preemption, Profile, QueueSort, Score, Weighted};
use muster_core::plugins::registry;
use muster_core::plugins::scoring::Arguments;
use muster_model::ProfileId;
use muster_model::resources::{Measure, Worth};
use muster_model::units::Millis;
use std::sync::Arc;

impl SchedulerConfiguration {
    /// Whose pods are scheduled: values of `spec.schedulerName`.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let named = self.profiles.iter().map(|one| &one.scheduler_name);
        let mut names: Vec<String> = Vec::new();
        for name in self.scheduler_names.iter().chain(named) {
            if !names.iter().any(|known| known == name.as_str()) {
                names.push(name.as_str().to_owned());
            }
        }
        names
    }

    /// How objects are read for a policy that was made of this.
    #[must_use]
    pub fn reading(&self, policy: &Policy) -> Reading {
        let named = self.profiles.iter().zip(1..);
        let profile = |(one, number): (&NamedProfile, u8)| {
            let name = one.scheduler_name.as_str().to_owned();
            (name, ProfileId(number))
        };
        Reading {
            scheduler_names: self.names(),
            profiles: named.map(profile).collect(),
            reads: policy.profiles().iter().map(Profile::reads).collect(),
            as_upstream: (policy.profiles().iter().zip(0..))
                .filter(|(profile, _)| profile.preemption == Preemption::ByNode)
                .map(|(_, number)| ProfileId(number))
                .collect(),
            ignored: std::iter::once(Ignored::default())
                .chain(self.profiles.iter().map(NamedProfile::ignored))
                .collect(),
            missing_pod_group_timeout: Some(self.missing_pod_group_timeout.millis())
                .filter(|wait| *wait > Millis(0)),
            require_scheduling_spec: self.require_scheduling_spec,
            gangs_by_labels: self.gangs_by_labels.clone(),
            ghost_namespace: self.ghost_namespace.as_str().to_owned(),
            ..Reading::default()
        }
    }

    /// By what people know the profiles: the `schedulerName`s that choose them.
    #[must_use]
    pub fn profile_names(&self) -> Vec<String> {
        let own: Vec<&str> = self
            .profiles
            .iter()
            .map(|one| one.scheduler_name.as_str())
            .collect();
        let names = self.scheduler_names.iter().map(|one| one.as_str());
        let others: Vec<&str> = names.filter(|name| !own.contains(name)).collect();
        let all = std::iter::once(others.join(", ")).chain(own.into_iter().map(str::to_owned));
        all.collect()
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
        let mut profile = self.first_profile()?;
        let mut more_profiles = Vec::new();
        for one in &self.profiles {
            more_profiles.push(one.build(&profile.queue_sort)?);
        }
        let one_profile = registry::one_profile(self.profile_names());
        let is_alone = more_profiles.is_empty();
        for one in std::iter::once(&mut profile).chain(&mut more_profiles) {
            if !is_alone {
                one.pre_enqueue.push(Arc::clone(&one_profile));
            }
            one.pre_bind = vec![registry::volume_binding(self.volume_bind_timeout.millis())];
            self.add_remotes(one)?;
        }
        Ok(Policy {
            profile,
            more_profiles,
            sweep_interval: self.sweep_interval.millis(),
            worth: self.worth(),
            half_life: self.half_life.millis(),
            default_queue: self.default_queue,
            priorities: match self.pod_group_priority {
                PodGroupPriority::UpToPods => Priorities::UpToPods,
                PodGroupPriority::AsGiven => Priorities::AsGiven,
            },
            moves: self.moves(),
            additions: additions(&self.profile.plugins, offers)?,
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

impl SchedulerConfiguration {
    /// What runs for pods whose `schedulerName` has no profile of its own.
    fn first_profile(&self) -> Result<Profile, ConfigError> {
        let chosen = &self.profile;
        let sorts = registry::queue_sorts();
        let filters = registry::filters();
        let scores = registry::scores();
        let mut profile = Profile {
            queue_sort: pick_all::<_, QueueSortPoint>(&sorts, &chosen.queue_sort)?,
            filter: registry::with_the_gangs_own(pick_all::<_, FilterPoint>(
                &filters,
                &chosen.filter,
            )?),
            score: weighted(&scores, &chosen.score)?,
            ..registry::default_profile()
        };
        registry::spread_by_default(&mut profile, &Arguments::default());
        Ok(profile)
    }
}

impl NamedProfile {
    /// Its plugins. The order of gangs is the same for all profiles.
    fn build(&self, order: &[Arc<dyn QueueSort>]) -> Result<Profile, ConfigError> {
        let arguments = self.arguments();
        let base = match self.base {
            Base::Default => registry::default_profile(),
            Base::Kubernetes => registry::kubernetes_profile(),
        };
        let scores = registry::scores_by(&arguments);
        let Plugins { filter, score } = &self.plugins;
        let mut filters = registry::filters_by(&arguments);
        filters.retain(|one| {
            let named = filter
                .enabled
                .iter()
                .any(|own| own.name.as_str() == one.name());
            named
                || !filter
                    .disabled
                    .iter()
                    .any(|own| own.name.covers(one.name()))
        });
        // As in kube-scheduler, one that is named takes the place of the base's, with its weight.
        let mut all: Vec<Weighted> = Vec::new();
        for one in base.score {
            let name = one.plugin.name();
            let own = score.enabled.iter().find(|own| own.name.as_str() == name);
            let plugin = scores.iter().find(|plugin| plugin.name() == name);
            let disabled = score.disabled.iter().any(|own| own.name.covers(name));
            if let Some(plugin) = plugin.filter(|_| own.is_some() || !disabled) {
                all.push(Weighted {
                    plugin: Arc::clone(plugin),
                    weight: own.map_or(one.weight, |own| i64::from(own.weight.get())),
                });
            }
        }
        for one in weighted(&scores, &score.enabled)? {
            if !all
                .iter()
                .any(|known| known.plugin.name() == one.plugin.name())
            {
                all.push(one);
            }
        }
        let mut profile = Profile {
            queue_sort: order.to_vec(),
            filter: registry::with_the_gangs_own(filters),
            score: all,
            ..base
        };
        registry::spread_by_default(&mut profile, &arguments);
        Ok(profile)
    }
}

fn weighted(
    known: &[Arc<dyn Score>],
    chosen: &[WeightedPlugin],
) -> Result<Vec<Weighted>, ConfigError> {
    let one = |one: &WeightedPlugin| {
        Ok(Weighted {
            plugin: pick::<_, ScorePoint>(known, &one.name)?,
            weight: i64::from(one.weight.get()),
        })
    };
    chosen.iter().map(one).collect()
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
