//! `muster completion`: what a shell, or kubectl, needs to complete a line; and the answers that it asks for then.
//!
//! The script calls the program again with the words of the line and [`VARIABLE`], so that what is offered is what this
//! version takes.

use super::called::Called;
use super::print;
use clap::{Args, Command, ValueEnum};
use clap_complete::engine::complete;
use clap_complete::env::{Bash, EnvCompleter, Fish, Zsh};
use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Which shell asks. No flag has a variable of this name: those have the command in theirs.
const VARIABLE: &str = "MUSTER_COMPLETE";

/// Arguments of `muster completion`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// For whom
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Who completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shell {
    /// `source <(muster completion bash)`
    Bash,
    /// `source <(muster completion zsh)`
    Zsh,
    /// `muster completion fish | source`
    Fish,
    /// A program to keep as kubectl_complete-muster, which kubectl asks about `kubectl muster`
    Kubectl,
}

impl Shell {
    /// By the value of the variable: its name, or the path to it.
    fn named(value: &OsString) -> Option<Self> {
        let name = Path::new(value).file_stem()?.to_str()?;
        <Self as ValueEnum>::from_str(name, false).ok()
    }

    fn completer(self) -> &'static dyn EnvCompleter {
        match self {
            Self::Bash => &Bash,
            Self::Zsh => &Zsh,
            Self::Fish => &Fish,
            Self::Kubectl => &Kubectl,
        }
    }
}

/// Prints the script.
pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let mut script = Vec::new();
    let completer = arguments.shell.completer();
    let written = completer.write_registration(VARIABLE, "muster", "muster", "muster", &mut script);
    finish(written, &script)
}

/// Answers a shell that asks how a line goes on, if it is one that calls.
pub(super) fn answered(called: Called, words: &[OsString]) -> Option<ExitCode> {
    let (shell, line) = if called == Called::PluginCompletion {
        (Shell::Kubectl, words.get(1..).unwrap_or_default())
    } else {
        let value = env::var_os(VARIABLE).filter(|value| !value.is_empty())?;
        let Some(shell) = Shell::named(&value) else {
            eprintln!(
                "{VARIABLE}={}: expected bash, zsh, fish or kubectl",
                value.display()
            );
            return Some(ExitCode::from(super::BAD_INPUT));
        };
        let start = words.iter().position(|word| word == "--");
        let start = start.map_or(words.len(), |escape| escape + 1);
        (shell, &words[start..])
    };
    let as_what = match shell {
        Shell::Kubectl => Called::Plugin,
        _ => called,
    };
    let folder = env::current_dir().ok();
    let mut answer = Vec::new();
    let completed = shell.completer().write_complete(
        &mut as_what.command(),
        line.to_vec(),
        folder.as_deref(),
        &mut answer,
    );
    Some(finish(completed, &answer))
}

fn finish(written: io::Result<()>, text: &[u8]) -> ExitCode {
    match written {
        Ok(()) => print(&String::from_utf8_lossy(text)),
        Err(error) => {
            eprintln!("cannot complete: {error}");
            ExitCode::FAILURE
        }
    }
}

/// kubectl, which asks a program about its plugin: with the words behind the plugin's name, of which the last is to be
/// completed. A candidate is a line, with what it means behind a tab; the last line says what to do with them.
#[derive(Debug)]
struct Kubectl;

/// For the last line: nothing is offered beside these ...
const NO_FILES: u8 = 4;
/// ... and a word that was completed may go on.
const NO_SPACE: u8 = 2;

impl EnvCompleter for Kubectl {
    fn name(&self) -> &'static str {
        "kubectl"
    }

    fn is(&self, name: &str) -> bool {
        name == "kubectl"
    }

    fn write_registration(
        &self,
        variable: &str,
        _name: &str,
        binary: &str,
        _completer: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        writeln!(
            out,
            "#!/bin/sh\n{variable}=kubectl exec kubectl-{binary} -- \"$@\""
        )
    }

    fn write_complete(
        &self,
        command: &mut Command,
        words: Vec<OsString>,
        folder: Option<&Path>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let line = [vec![OsString::from("muster")], words].concat();
        let last = line.len().max(2) - 1;
        let mut line = line;
        line.resize(last + 1, OsString::new());
        let candidates = complete(command, line, last, folder)?;
        let mut directive = NO_FILES;
        for candidate in candidates.iter().filter(|one| !one.is_hide_set()) {
            let value = candidate.get_value().to_string_lossy();
            if value.ends_with(['/', '=']) {
                directive |= NO_SPACE;
            }
            let help = candidate.get_help().map(ToString::to_string);
            match help.as_deref().and_then(|help| help.lines().next()) {
                Some(help) if !help.is_empty() => writeln!(out, "{value}\t{help}")?,
                _ => writeln!(out, "{value}")?,
            }
        }
        writeln!(out, ":{directive}")
    }
}
