//! An environment variable for each flag: `MUSTER_`, the command, the flag. `--listen` of `muster run` is
//! `MUSTER_RUN_LISTEN`.
//!
//! The command is in the name for two reasons. Commands have flags of the same name with other values (`--output`). And
//! Kubernetes gives every pod variables such as `MUSTER_PORT` where there is a Service called `muster`: none of
//! ours is one of those.

use clap::Command;

/// The same command line, where each flag may be given by its variable.
pub(super) fn given(command: Command) -> Command {
    let prefix = variable(&[command.get_name()]);
    below(command, &prefix)
}

fn below(command: Command, prefix: &str) -> Command {
    let command = command.mut_args(|flag| {
        let name = flag.get_long().map(|long| variable(&[prefix, long]));
        match name {
            Some(name) => flag.env(name),
            None => flag,
        }
    });
    command.mut_subcommands(|command| {
        let prefix = variable(&[prefix, command.get_name()]);
        below(command, &prefix)
    })
}

/// The name of a variable of these parts.
fn variable(parts: &[&str]) -> String {
    parts.join("_").replace('-', "_").to_uppercase()
}

#[cfg(test)]
mod tests {
    use crate::called::Called;
    use clap::{ArgAction, Command};
    use std::collections::BTreeSet;
    use std::ffi::OsStr;

    /// All flags of a command and of those below it, by command, with their variables.
    fn flags(command: &Command, path: &str, found: &mut Vec<(String, String, Option<String>)>) {
        for flag in command.get_arguments() {
            // What clap has by itself asks for nothing that could be set for good.
            let asks = matches!(
                flag.get_action(),
                ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
            );
            if let (Some(long), false) = (flag.get_long(), asks) {
                let variable = flag.get_env().and_then(OsStr::to_str).map(str::to_owned);
                found.push((path.to_owned(), long.to_owned(), variable));
            }
            assert!(
                flag.is_positional() || flag.get_long().is_some(),
                "{path} {flag:?}: a flag without a long name has no variable"
            );
        }
        for command in command.get_subcommands() {
            flags(command, &format!("{path} {}", command.get_name()), found);
        }
    }

    #[test]
    fn every_flag_has_a_variable_of_its_own() {
        let mut command = Called::Muster.command();
        command.build();
        let mut found = Vec::new();
        flags(&command, "muster", &mut found);
        assert!(found.len() > 50, "{found:?}");
        let mut seen = BTreeSet::new();
        for (path, long, variable) in found {
            let wanted = format!("{path} {long}").replace([' ', '-'], "_");
            assert_eq!(variable, Some(wanted.to_uppercase()), "{path} --{long}");
            assert!(seen.insert(variable), "{path} --{long}: twice");
        }
    }

    #[test]
    fn no_variable_is_one_that_kubernetes_sets_for_a_service_called_muster() {
        let mut command = Called::Muster.command();
        command.build();
        let mut found = Vec::new();
        flags(&command, "muster", &mut found);
        for (_, _, variable) in found {
            let variable = variable.unwrap();
            assert!(
                !variable.starts_with("MUSTER_PORT") && !variable.starts_with("MUSTER_SERVICE"),
                "{variable}"
            );
        }
    }
}
