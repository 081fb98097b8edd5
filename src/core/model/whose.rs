//! Whose a group of pods is: the one rule, for everybody who has to know. What is not ours is left
//! alone. docs/conventions.md has it as a table.

use super::{GangSpec, Source};

impl Source {
    /// The name of the scheduler that groups of this kind are made for; `None` for our own kinds, and where
    /// there is no object.
    #[must_use]
    pub const fn scheduler(self) -> Option<&'static str> {
        match self {
            Self::Muster | Self::SchedulingSpec | Self::Implied => None,
            Self::Volcano => Some("volcano"),
            Self::Upstream => Some("default-scheduler"),
            Self::Coscheduling => Some("scheduler-plugins-scheduler"),
        }
    }
}

/// Which schedulers the pods of a group name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// One of ours, at least one pod of it.
    pub ours: bool,
    /// Another one, at least one pod of it.
    pub others: bool,
}

/// Whether a group is ours: one of its pods names a scheduler of ours; or it is of one of our own kinds; or, as long
/// as it has no pods, we stand in for its kind's scheduler, or it was claimed for us. `definition` is the
/// PodGroup that counts, `claimed` whether its namespace claims it.
#[must_use]
pub fn is_ours(named: Named, definition: Option<&GangSpec>, claimed: bool) -> bool {
    let by_definition = |spec: &GangSpec| {
        let for_us = spec.stands_in || claimed;
        let own = matches!(spec.source, Source::Muster | Source::SchedulingSpec);
        own || for_us && !named.others
    };
    named.ours || definition.is_some_and(by_definition)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: Named = Named {
        ours: false,
        others: false,
    };
    const OURS: Named = Named {
        ours: true,
        others: false,
    };
    const OTHERS: Named = Named {
        ours: false,
        others: true,
    };
    const BOTH: Named = Named {
        ours: true,
        others: true,
    };

    fn defined_by(source: Source, stands_in: bool) -> GangSpec {
        GangSpec {
            source,
            stands_in,
            ..GangSpec::default()
        }
    }

    #[test]
    fn a_pod_of_ours_makes_a_group_ours_whatever_defines_it() {
        for named in [OURS, BOTH] {
            assert!(is_ours(named, None, false));
            for source in Source::KINDS {
                assert!(is_ours(named, Some(&defined_by(source, false)), false));
            }
        }
    }

    #[test]
    fn a_group_of_our_own_kind_is_ours_whatever_its_pods_name() {
        for named in [NOBODY, OTHERS] {
            let spec = defined_by(Source::Muster, false);
            assert!(is_ours(named, Some(&spec), false));
        }
    }

    #[test]
    fn a_group_of_another_kind_without_pods_is_ours_where_we_stand_in_or_it_is_claimed() {
        for source in [Source::Volcano, Source::Upstream, Source::Coscheduling] {
            for (stands_in, claimed) in [(false, false), (false, true), (true, false), (true, true)]
            {
                let spec = defined_by(source, stands_in);
                let expected = stands_in || claimed;
                assert_eq!(is_ours(NOBODY, Some(&spec), claimed), expected);
                assert!(!is_ours(OTHERS, Some(&spec), claimed), "its pods decide");
            }
        }
    }

    #[test]
    fn what_nobody_defines_and_no_pod_of_ours_names_is_not_ours() {
        for named in [NOBODY, OTHERS] {
            assert!(!is_ours(named, None, true));
        }
    }
}
