//! What a program adds that has Muster in it: plugins, and who answers what they ask.

use muster_cluster::answerer::Answerer;
use muster_cluster::lanes::Answerers;
use muster_config::{ConfigError, SchedulerConfiguration};
use muster_core::engine::Policy;
use muster_core::framework::{Addition, Profile};
use std::sync::Arc;

/// Plugins that the configuration may choose beside the built-in ones (`profile.plugins`), and who
/// answers what plugins ask.
#[derive(Clone, Default)]
pub struct Extensions {
    offers: Vec<Addition>,
    answerers: Answerers,
}

impl Extensions {
    /// Offers a plugin: `make` returns a profile that has it at its points and nothing else. It is called
    /// for each scheduler anew.
    #[must_use]
    pub fn plugin(
        mut self,
        name: &'static str,
        make: impl Fn() -> Profile + Send + Sync + 'static,
    ) -> Self {
        self.offers.push(Addition::new(name, make));
        self
    }

    /// Has somebody answer what is addressed to a name.
    #[must_use]
    pub fn answerer(mut self, name: &str, answerer: Arc<dyn Answerer>) -> Self {
        self.answerers.add(name, answerer);
        self
    }

    /// Who answers.
    #[must_use]
    pub fn answerers(&self) -> Answerers {
        self.answerers.clone()
    }

    /// What the core decides by: what a configuration says, with the plugins that it chooses.
    ///
    /// # Errors
    /// When it names a plugin that this program does not have.
    pub fn policy(&self, configuration: &SchedulerConfiguration) -> Result<Policy, ConfigError> {
        configuration.policy_with(&self.offers)
    }
}
