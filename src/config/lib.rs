//! The configuration file: `SchedulerConfiguration`, version `config.muster.dev/v1alpha1`.
//!
//! What is written wrong is refused here, with its place in the file, what was found and what is
//! allowed: whoever holds a [`SchedulerConfiguration`] holds one that can run. `types` has the
//! fields, `values` what each may hold. Flags are no matter of this module: commands let them
//! override what they read here. Every field is in `docs/configuration.md` (a test compares them).

mod error;
mod load;
mod policy;
mod profiles;
mod remote;
mod remotes;
mod schema;
mod spread;
mod types;
mod values;

pub use error::ConfigError;
pub use load::{load, load_or_default, parse};
pub use profiles::{
    AddedAffinity, AffinityArguments, BalancedArguments, Base, Comparison, DisabledFilter,
    DisabledScore, EnabledFilter, Filters, FitArguments, NamedProfile, PluginConfig, Plugins,
    PreferredTerm, Ratio, RatioPoint, Requirement, Resource, Scores, ScoringStrategy, StrategyType,
    Term, Terms,
};
pub use remote::{Extender, ExtenderTls, ManagedResource, RemotePlugin, RemoteTls};
pub use schema::{SCHEMA_FILE, schema};
pub use spread::{
    DefaultConstraint, DefaultingType, NodePolicy, SpreadArguments, WhenUnsatisfiable,
};
pub use types::{
    ApiVersion, Kind, LeaderElection, PodGroupPriority, Profile, SchedulerConfiguration, Usage,
    WeightedPlugin,
};
pub use values::{
    Address, Bounded, CoresWorth, ExtendedResource, HttpUrl, LabelKey, ObjectName, PluginName,
    PluginOrAll, Point, RemoteName, SchedulerName, Span, Timeout,
};
