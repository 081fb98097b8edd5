//! Under which name the program was called, and the command line that it has then: `muster`, or as a plugin of
//! kubectl, `kubectl muster`.

use super::variables;
use clap::{Command, CommandFactory};
use muster_cluster::this_build;
use std::ffi::OsStr;
use std::path::Path;

/// As which program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Called {
    /// As itself.
    Muster,
    /// As `kubectl muster`: kubectl runs what is called `kubectl-muster`.
    Plugin,
    /// As who completes a line that begins with `kubectl muster`: kubectl asks `kubectl_complete-muster`.
    PluginCompletion,
}

/// What a plugin is not asked for: what runs until it is told to stop, what asks that from beside it, and what measures.
const NOT_OF_THE_PLUGIN: [&str; 4] = ["run", "controllers", "probe", "bench"];

impl Called {
    /// By the first word of the command line.
    pub(super) fn by(first: Option<&OsStr>) -> Self {
        let name = first.and_then(|path| Path::new(path).file_stem());
        match name.and_then(OsStr::to_str) {
            Some("kubectl-muster") => Self::Plugin,
            Some("kubectl_complete-muster") => Self::PluginCompletion,
            _ => Self::Muster,
        }
    }

    /// The command line, with a variable for each flag.
    pub(super) fn command(self) -> Command {
        let command = super::Arguments::command().version(this_build::described());
        let command = variables::given(command);
        if self == Self::Muster {
            return command;
        }
        command
            .bin_name("kubectl muster")
            .mut_subcommands(|command| {
                let hidden = NOT_OF_THE_PLUGIN.contains(&command.get_name());
                command.hide(hidden)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(first: &str) -> Called {
        Called::by(Some(OsStr::new(first)))
    }

    #[test]
    fn the_name_of_the_file_says_as_what_it_is_called() {
        assert_eq!(called("/usr/bin/kubectl-muster"), Called::Plugin);
        assert_eq!(called("kubectl-muster.exe"), Called::Plugin);
        assert_eq!(called("kubectl_complete-muster"), Called::PluginCompletion);
        assert_eq!(called("target/debug/muster"), Called::Muster);
        assert_eq!(Called::by(None), Called::Muster);
    }

    #[test]
    fn the_plugin_is_not_offered_what_runs_for_ever() {
        let command = Called::Plugin.command();
        let shown = |name: &str| {
            let found = command.find_subcommand(name);
            found.is_some_and(|found| !found.is_hide_set())
        };
        assert!(NOT_OF_THE_PLUGIN.iter().all(|name| !shown(name)));
        for name in ["why", "top", "crds", "convert", "config", "simulate"] {
            assert!(shown(name), "{name}");
        }
        // Each that is not offered is there.
        let all = Called::Muster.command();
        for name in NOT_OF_THE_PLUGIN {
            assert!(all.find_subcommand(name).is_some(), "{name}");
        }
    }
}
