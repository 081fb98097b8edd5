//! Names: of schedulers, of objects, of plugins; and an address.

use super::Entry;
use crate::WeightedPlugin;
use muster_api::yaml::short;
use muster_core::plugins::registry;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// A value of a pod's `spec.schedulerName`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SchedulerName(String);

/// The name of a Kubernetes object: a DNS name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ObjectName(String);

/// An IP address and a port. Those of IPv6 stand in brackets, as in `[fd00::7]:10270`, or without, as comes of
/// `$(POD_IP):10270` in a manifest for both families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Address(SocketAddr);

/// The name of a plugin that exists at an extension point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String", bound = "P: Point")]
pub struct PluginName<P> {
    name: String,
    point: PhantomData<P>,
}

/// An extension point whose plugins can be chosen.
pub trait Point: Clone {
    /// Its field in `profile`.
    const NAME: &'static str;

    /// The names of its plugins, in their default order.
    fn known() -> Vec<&'static str>;

    /// The names of those that run unless others are chosen.
    #[must_use]
    fn by_default() -> Vec<&'static str> {
        Self::known()
    }

    /// The plugins that run unless others are chosen, in their default order.
    #[must_use]
    fn defaults() -> Vec<PluginName<Self>> {
        let name = |name: &str| PluginName {
            name: name.to_owned(),
            point: PhantomData,
        };
        Self::by_default().into_iter().map(name).collect()
    }
}

/// The point QueueSort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueSortPoint {}

/// The point Filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterPoint {}

/// The point Score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScorePoint {}

impl Point for QueueSortPoint {
    const NAME: &'static str = "queueSort";

    fn known() -> Vec<&'static str> {
        let plugins = registry::queue_sorts();
        plugins.iter().map(|one| one.name()).collect()
    }
}

impl Point for FilterPoint {
    const NAME: &'static str = "filter";

    fn known() -> Vec<&'static str> {
        registry::filters().iter().map(|one| one.name()).collect()
    }
}

impl Point for ScorePoint {
    const NAME: &'static str = "score";

    fn known() -> Vec<&'static str> {
        registry::scores().iter().map(|one| one.name()).collect()
    }

    fn by_default() -> Vec<&'static str> {
        let plugins = registry::default_scores();
        plugins.iter().map(|one| one.name()).collect()
    }
}

/// The name of a plugin of an extension point, or `*` for all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String", bound = "P: Point")]
pub enum PluginOrAll<P> {
    /// All.
    All,
    /// One.
    One(PluginName<P>),
}

impl<P: Point> TryFrom<String> for PluginOrAll<P> {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        match name.as_str() {
            "*" => Ok(Self::All),
            _ => PluginName::try_from(name).map(Self::One),
        }
    }
}

impl<P> From<PluginOrAll<P>> for String {
    fn from(plugin: PluginOrAll<P>) -> Self {
        match plugin {
            PluginOrAll::All => "*".to_owned(),
            PluginOrAll::One(name) => name.into(),
        }
    }
}

impl<P> PluginOrAll<P> {
    /// Whether it is the plugin of this name, or all.
    #[must_use]
    pub fn covers(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::One(one) => one.as_str() == name,
        }
    }
}

impl<P> PluginName<P> {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.name
    }
}

impl<P: Point> TryFrom<String> for PluginName<P> {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let known = P::known();
        if known.contains(&name.as_str()) {
            let point = PhantomData;
            return Ok(Self { name, point });
        }
        let (point, known, name) = (P::NAME, known.join(", "), short(&name));
        Err(format!(
            "found {name:?}: no plugin of {point} has this name; known are {known}"
        ))
    }
}

impl<P> From<PluginName<P>> for String {
    fn from(plugin: PluginName<P>) -> Self {
        plugin.name
    }
}

/// Kubernetes checks `spec.schedulerName` for being there only.
const MAX_SCHEDULER_NAME: usize = 253;

impl TryFrom<String> for SchedulerName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let fine = (1..=MAX_SCHEDULER_NAME).contains(&name.len());
        if fine && !name.contains(char::is_whitespace) {
            return Ok(Self(name));
        }
        let name = short(&name);
        Err(format!(
            "found {name:?}: expected a scheduler's name, 1 to 253 bytes without white space"
        ))
    }
}

impl SchedulerName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<SchedulerName> for String {
    fn from(name: SchedulerName) -> Self {
        name.0
    }
}

impl Default for SchedulerName {
    fn default() -> Self {
        Self("muster".to_owned())
    }
}

impl ObjectName {
    /// Where the pods are that stand for slots, unless something else is said.
    #[must_use]
    pub fn of_ghosts() -> Self {
        Self("muster-system".to_owned())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ObjectName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let outer = |c: char| inner(c) && c != '-';
        let label = |part: &str| part.starts_with(outer) && part.ends_with(outer);
        if name.len() <= 253
            && name.split('.').all(label)
            && name.chars().all(|c| inner(c) || c == '.')
        {
            return Ok(Self(name));
        }
        let name = short(&name);
        Err(format!(
            "found {name:?}: expected the name of an object: a-z, 0-9, '-' and '.', at most 253"
        ))
    }
}

impl From<ObjectName> for String {
    fn from(name: ObjectName) -> Self {
        name.0
    }
}

impl Default for ObjectName {
    fn default() -> Self {
        Self("muster".to_owned())
    }
}

impl Address {
    /// The address.
    #[must_use]
    pub const fn get(self) -> SocketAddr {
        self.0
    }
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let without_brackets = || {
            let (ip, port) = text.rsplit_once(':')?;
            let ip: Ipv6Addr = ip.parse().ok()?;
            Some(SocketAddr::from((ip, port.parse::<u16>().ok()?)))
        };
        let found = text.parse().ok().or_else(without_brackets);
        found.map(Self).ok_or_else(|| {
            let text = short(text);
            format!("found {text:?}: expected an IP address and a port, such as 127.0.0.1:10270")
        })
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.0.to_string()
    }
}

/// Loopback: what is served there has no authentication.
impl Default for Address {
    fn default() -> Self {
        Self(SocketAddr::from((Ipv4Addr::LOCALHOST, 10_270)))
    }
}

impl Entry for SchedulerName {
    fn key(&self) -> &str {
        &self.0
    }
}

impl<P> Entry for PluginName<P> {
    fn key(&self) -> &str {
        self.as_str()
    }
}

impl Entry for String {
    fn key(&self) -> &str {
        self
    }
}

impl Entry for WeightedPlugin {
    fn key(&self) -> &str {
        self.name.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_objects_are_dns_names() {
        for name in ["muster", "a-b.c", "0"] {
            assert!(ObjectName::try_from(name.to_owned()).is_ok(), "{name}");
        }
        for name in [
            "",
            "A",
            "-a",
            "a-",
            "a..b",
            "a.",
            "ä",
            "a b",
            &"a".repeat(254),
        ] {
            assert!(ObjectName::try_from(name.to_owned()).is_err(), "{name}");
        }
    }

    #[test]
    fn names_of_schedulers_have_no_white_space() {
        for name in ["", "a b", "a\n"] {
            assert!(SchedulerName::try_from(name.to_owned()).is_err(), "{name}");
        }
        assert!(SchedulerName::try_from("default-scheduler".to_owned()).is_ok());
    }

    #[test]
    fn an_unknown_plugin_is_refused_with_the_list_of_known_ones() {
        let wrong = PluginName::<FilterPoint>::try_from("NodePort".to_owned()).unwrap_err();
        assert!(
            wrong.contains("\"NodePort\"") && wrong.contains("NodeUnschedulable, TaintToleration")
        );
        // The name is known, at another point.
        assert!(PluginName::<FilterPoint>::try_from("Packing".to_owned()).is_err());
        assert!(PluginName::<ScorePoint>::try_from("Packing".to_owned()).is_ok());
    }

    #[test]
    fn an_address_needs_a_port() {
        for text in ["127.0.0.1", "localhost:1", ":10270", "1.2.3.4:65536"] {
            assert!(Address::try_from(text.to_owned()).is_err(), "{text}");
        }
        for text in [
            "fd00::7",
            "::1",
            "::",
            "1:2:3:4:5:6:7:8",
            "fd00::7:65536",
            "fd00::7:",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
        assert!(Address::try_from("[::]:10270".to_owned()).is_ok());
        // As `$(POD_IP):10270` makes of it.
        let of_pod: Address = "fd00:10:244::7:10270".parse().unwrap();
        assert_eq!(of_pod, "[fd00:10:244::7]:10270".parse().unwrap());
        assert_eq!(of_pod.get().port(), 10_270);
    }
}
