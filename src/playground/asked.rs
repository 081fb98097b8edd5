//! What a request asks for: its path and its query, read.

use crate::failure::Failure;
use crate::resources::{self, ResourceId};
use crate::selection::Selection;
use crate::why;
use std::time::Duration;

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The page of what has happened.
    Page,
    /// It is there.
    Health,
    Version,
    /// The versions of the core's group.
    Core,
    /// All other groups.
    Groups,
    /// One of them.
    Group(String),
    /// The resources of a version: of the core's where the group is empty.
    Resources(String, String),
    /// The OpenAPI document of before: it has nothing in it.
    OpenApi2,
    /// Where the parts of the OpenAPI document are.
    OpenApi,
    /// That of a version of a group.
    OpenApiOf(String, String),
    /// Who schedules: the Lease of this namespace and name.
    Lease(String, String),
    /// Why something is where it is.
    Why(why::Of),
    /// The objects of a resource, in a namespace or in all.
    Many(ResourceId, Option<String>),
    /// An object, or a part of it.
    One(ResourceId, Option<String>, String, Option<String>),
}

impl Target {
    /// Reads a path.
    ///
    /// # Errors
    /// It leads nowhere.
    pub(crate) fn of(path: &str) -> Result<Self, Failure> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let nowhere = || Failure::no_such_path(path);
        let own = str::to_owned;
        if let Some(of) = why::Of::path(&parts) {
            return Ok(Self::Why(of));
        }
        Ok(match parts.as_slice() {
            [] => Self::Page,
            ["healthz" | "readyz" | "livez"] => Self::Health,
            ["version"] => Self::Version,
            ["api"] => Self::Core,
            ["apis"] => Self::Groups,
            ["apis", group] => Self::Group(own(group)),
            ["openapi", "v2"] => Self::OpenApi2,
            ["openapi", "v3"] => Self::OpenApi,
            ["openapi", "v3", "api", version] => Self::OpenApiOf(String::new(), own(version)),
            ["openapi", "v3", "apis", group, version] => Self::OpenApiOf(own(group), own(version)),
            [
                "apis",
                "coordination.k8s.io",
                "v1",
                "namespaces",
                namespace,
                "leases",
                name,
            ] => Self::Lease(own(namespace), own(name)),
            ["api", version, rest @ ..] => Self::below("", version, rest).ok_or_else(nowhere)?,
            ["apis", group, version, rest @ ..] => {
                Self::below(group, version, rest).ok_or_else(nowhere)?
            }
            _ => return Err(nowhere()),
        })
    }

    fn below(group: &str, version: &str, rest: &[&str]) -> Option<Self> {
        let own = str::to_owned;
        let find = |plural: &str| resources::find(group, version, plural);
        let namespaced = |plural: &str| find(plural).filter(|id| resources::ALL[*id].is_namespaced);
        Some(match rest {
            [] => Self::Resources(own(group), own(version)),
            [plural] => Self::Many(find(plural)?, None),
            // A namespace is an object as well.
            ["namespaces", name] => Self::One(find("namespaces")?, None, own(name), None),
            ["namespaces", name, part @ ("status" | "finalize")] => {
                Self::One(find("namespaces")?, None, own(name), Some(own(part)))
            }
            ["namespaces", namespace, plural] => {
                Self::Many(namespaced(plural)?, Some(own(namespace)))
            }
            ["namespaces", namespace, plural, name] => {
                Self::One(namespaced(plural)?, Some(own(namespace)), own(name), None)
            }
            ["namespaces", namespace, plural, name, part] => Self::One(
                namespaced(plural)?,
                Some(own(namespace)),
                own(name),
                Some(own(part)),
            ),
            [plural, name] => Self::One(find(plural)?, None, own(name), None),
            [plural, name, part] => Self::One(find(plural)?, None, own(name), Some(own(part))),
            _ => return None,
        })
    }
}

/// The longest that a watch lasts, and how long one does of which nothing is said.
const LONGEST: Duration = Duration::from_hours(12);
const USUAL: Duration = Duration::from_mins(30);

/// What a query asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Query {
    pub(crate) selection: Selection,
    pub(crate) watch: bool,
    /// From which version on a watch tells; `None`: from what there is.
    pub(crate) version: Option<u64>,
    /// What there is comes first, and then a mark.
    pub(crate) initial: bool,
    pub(crate) lasts: Duration,
    pub(crate) dry: bool,
    pub(crate) strict: bool,
    /// Rows of a table have the whole object, or nothing of it, in place of its metadata.
    pub(crate) include: Include,
}

/// What of an object is in its row of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Include {
    #[default]
    Metadata,
    Object,
    None,
}

impl Query {
    /// Reads a query; what is not known in it is passed over, as API servers do.
    ///
    /// # Errors
    /// What of it cannot be read.
    pub(crate) fn of(query: &str) -> Result<Self, Failure> {
        let (mut labels, mut fields) = (String::new(), String::new());
        let mut found = Self {
            selection: Selection::default(),
            watch: false,
            version: None,
            initial: false,
            lasts: USUAL,
            dry: false,
            strict: false,
            include: Include::Metadata,
        };
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            let wrong = |what: &str| {
                let cut: String = value.chars().take(80).collect();
                Failure::bad_request(format!("{key}: {cut:?} is {what}"))
            };
            match &*key {
                "labelSelector" => labels = value.into_owned(),
                "fieldSelector" => fields = value.into_owned(),
                "watch" => found.watch = is_true(&value),
                "sendInitialEvents" => found.initial = is_true(&value),
                "fieldValidation" => found.strict = value == "Strict",
                "dryRun" => match &*value {
                    "All" => found.dry = true,
                    "" => {}
                    _ => return Err(wrong("none of: All")),
                },
                "resourceVersion" => {
                    let version = value.parse().map_err(|_| wrong("no resource version"))?;
                    found.version = Some(version).filter(|version| *version > 0);
                }
                "timeoutSeconds" => {
                    let seconds = value.parse().map_err(|_| wrong("no number of seconds"))?;
                    let lasts = Duration::from_secs(seconds).min(LONGEST);
                    found.lasts = if seconds == 0 { USUAL } else { lasts };
                }
                "includeObject" => {
                    found.include = match &*value {
                        "Object" => Include::Object,
                        "None" => Include::None,
                        _ => Include::Metadata,
                    }
                }
                _ => {}
            }
        }
        found.selection = Selection::read(&labels, &fields).map_err(Failure::bad_request)?;
        Ok(found)
    }
}

fn is_true(value: &str) -> bool {
    ["true", "1", ""].contains(&value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::of_plural;

    #[test]
    fn paths_lead_to_objects_and_lists() {
        let pods = of_plural("", "pods").unwrap();
        let nodes = of_plural("", "nodes").unwrap();
        let queues = of_plural("muster.dev", "queues").unwrap();
        let n = || Some("n".to_owned());
        let a = || "a".to_owned();
        let leads = |path: &str| Target::of(path).unwrap();
        assert_eq!(leads("/api/v1/pods"), Target::Many(pods, None));
        assert_eq!(leads("/api/v1/namespaces/n/pods"), Target::Many(pods, n()));
        let one = Target::One(pods, n(), a(), None);
        assert_eq!(leads("/api/v1/namespaces/n/pods/a"), one);
        let part = Target::One(pods, n(), a(), Some("log".to_owned()));
        assert_eq!(leads("/api/v1/namespaces/n/pods/a/log"), part);
        assert_eq!(
            leads("/api/v1/nodes/a"),
            Target::One(nodes, None, a(), None)
        );
        let queue = Target::One(queues, None, a(), None);
        assert_eq!(leads("/apis/muster.dev/v1alpha1/queues/a"), queue);
        let namespace = of_plural("", "namespaces").unwrap();
        let named = Target::One(namespace, None, a(), None);
        assert_eq!(leads("/api/v1/namespaces/a"), named);
        assert_eq!(leads("/"), Target::Page);
        let why = Target::Why(why::Of::PodGroup("n".to_owned(), a()));
        assert_eq!(leads("/debug/why/podgroups/n/a"), why);
        let proxied =
            "/api/v1/namespaces/m/pods/http:muster-playground:8080/proxy/debug/why/podgroups/n/a";
        assert_eq!(leads(proxied), why);
        for path in [
            "/x",
            "/api/v1/x",
            "/apis/muster.dev/v2/queues",
            "/api/v1/namespaces/n/nodes/a",
            "/a/b/c/d/e/f/g/h",
        ] {
            assert_eq!(Target::of(path).unwrap_err().code, 404, "{path}");
        }
    }

    #[test]
    fn queries_are_read_and_what_is_wrong_in_them_is_said() {
        let query =
            Query::of("watch=true&resourceVersion=7&timeoutSeconds=5&labelSelector=a%3Db").unwrap();
        assert!(query.watch && query.version == Some(7) && query.lasts == Duration::from_secs(5));
        assert_eq!(query.selection, Selection::read("a=b", "").unwrap());
        assert_eq!(
            Query::of("timeoutSeconds=999999999").unwrap().lasts,
            LONGEST
        );
        for wrong in [
            "resourceVersion=x",
            "timeoutSeconds=-1",
            "dryRun=Some",
            "labelSelector=%3D",
            "fieldSelector=a",
        ] {
            assert_eq!(Query::of(wrong).unwrap_err().code, 400, "{wrong}");
        }
    }
}
