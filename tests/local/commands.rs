//! The program as it is installed: as a plugin of kubectl, with completions, pages for `man`, and variables for flags.

use crate::tables::first_cells;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const MUSTER: &str = env!("CARGO_BIN_EXE_muster");

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// The program under these names, in a folder.
fn installed(names: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        symlink(MUSTER, folder.path().join(name)).unwrap();
    }
    folder
}

/// The search path with a folder before all others.
fn path_with(folder: &Path) -> String {
    let usual = std::env::var("PATH").unwrap_or_default();
    format!("{}:{usual}", folder.display())
}

fn run(program: impl Into<PathBuf>, arguments: &[&str]) -> Output {
    Command::new(program.into())
        .args(arguments)
        .output()
        .unwrap()
}

/// The commands that `--help` of a command shows.
fn commands(path: &[&str]) -> Vec<String> {
    let help = said(&run(MUSTER, &[path, &["--help"]].concat()));
    let Some((_, rest)) = help.split_once("\nCommands:\n") else {
        return Vec::new();
    };
    let lines = rest.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_is_in_the_readme() {
    let documented = first_cells(include_str!("../../README.md"), "Commands");
    let mut found = BTreeSet::new();
    for command in commands(&[]) {
        let below = commands(&[&command]);
        // Of those with commands below them, each of these is one, but for `bench`, which is one itself.
        if below.is_empty() || command == "bench" {
            found.insert(command);
        } else {
            found.extend(below.iter().map(|name| format!("{command} {name}")));
        }
    }
    let words = |cell: &String| {
        let words = cell.strip_prefix("muster ").unwrap().split(' ');
        let words = words.take_while(|word| !word.starts_with(|c: char| c.is_uppercase()));
        words.collect::<Vec<_>>().join(" ")
    };
    let documented: BTreeSet<String> = documented.iter().map(words).collect();
    assert_eq!(documented, found, "README.md (left) and muster --help");
}

#[test]
fn as_a_plugin_it_says_how_it_is_called_then() {
    let folder = installed(&["kubectl-muster"]);
    let plugin = folder.path().join("kubectl-muster");
    let help = said(&run(&plugin, &["--help"]));
    assert!(help.contains("Usage: kubectl muster <COMMAND>"), "{help}");
    assert!(help.contains("\n  why "), "{help}");
    assert!(!help.contains("\n  run "), "{help}");
    let help = said(&run(&plugin, &["why", "--help"]));
    assert!(help.contains("Usage: kubectl muster why "), "{help}");
    let wrong = run(&plugin, &["top", "--colour"]);
    assert_eq!(wrong.status.code(), Some(2));
    let complaint = text(&wrong.stderr);
    assert!(complaint.contains("kubectl muster top"), "{complaint}");
    // What it is not offered for, it does all the same.
    assert!(run(&plugin, &["run", "--help"]).status.success());
}

#[test]
fn kubectl_is_told_how_the_line_goes_on() {
    let folder = installed(&["kubectl_complete-muster"]);
    let complete =
        |words: &[&str]| said(&run(folder.path().join("kubectl_complete-muster"), words));
    let commands = complete(&["co"]);
    assert!(commands.contains("convert\tWrites Volcano's"), "{commands}");
    assert!(
        commands.contains("\ncompletion\t") || commands.starts_with("completion\t"),
        "{commands}"
    );
    assert!(commands.ends_with("\n:4\n"), "{commands}");
    assert!(!commands.contains("controllers"), "{commands}");
    let values = complete(&["top", "--output", ""]);
    assert_eq!(values, "text\tColumns\njson\tOne JSON object\n:4\n");
    let kinds = complete(&["why", "po"]);
    assert!(kinds.starts_with("podgroup/\t"), "{kinds}");
    assert!(kinds.ends_with("\n:6\n"), "the name follows: {kinds}");
    assert!(complete(&[]).contains("why\t"), "nothing was written yet");
}

#[test]
fn the_program_for_kubectl_asks_the_plugin() {
    let folder = installed(&["kubectl-muster"]);
    let script = said(&run(MUSTER, &["completion", "kubectl"]));
    let program = folder.path().join("kubectl_complete-muster");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(&program);
    command.env("PATH", path_with(folder.path()));
    let said = said(&command.args(["wh"]).output().unwrap());
    assert!(said.starts_with("why\tAsks the instance"), "{said}");
}

/// What bash offers for the last of these words.
fn bash_offers(words: &[&str]) -> Vec<String> {
    let folder = installed(&["muster"]);
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let (last, quoted) = (words.len() - 1, quoted.join(" "));
    let script = format!(
        "source <(muster completion bash)\n\
         COMP_WORDS=({quoted}); COMP_CWORD={last}; COMP_TYPE=9\n\
         function=$(complete -p muster | sed 's/.*-F \\([^ ]*\\) .*/\\1/')\n\
         $function muster '{}' '{}'\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        words[last],
        words[last - 1],
    );
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-c", &script]);
    let output = command
        .env("PATH", path_with(folder.path()))
        .output()
        .unwrap();
    said(&output).lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_flags_and_values() {
    assert_eq!(bash_offers(&["muster", "sim"]), ["simulate"]);
    assert_eq!(bash_offers(&["muster", "config", "ch"]), ["check"]);
    assert_eq!(
        bash_offers(&["muster", "run", "--lease-n"]),
        ["--lease-namespace"]
    );
    assert_eq!(bash_offers(&["muster", "why", "--output", "j"]), ["json"]);
    assert_eq!(bash_offers(&["muster", "why", "q"]), ["queue/"]);
}

#[test]
fn other_shells_get_a_script_that_asks_the_program() {
    for (shell, registers) in [
        ("zsh", "#compdef muster"),
        ("fish", "complete --keep-order"),
    ] {
        let script = said(&run(MUSTER, &["completion", shell]));
        assert!(script.contains(registers), "{script}");
        assert!(script.contains("MUSTER_COMPLETE"), "{script}");
    }
    let output = run(MUSTER, &["completion", "csh"]);
    assert_eq!(output.status.code(), Some(2));
    let mut command = Command::new(MUSTER);
    let output = command.env("MUSTER_COMPLETE", "csh").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let complaint = text(&output.stderr);
    assert!(
        complaint.contains("expected bash, zsh, fish or kubectl"),
        "{complaint}"
    );
}

#[test]
fn every_command_has_a_page_with_all_its_flags() {
    let folder = tempfile::tempdir().unwrap();
    said(&run(MUSTER, &["man", folder.path().to_str().unwrap()]));
    let mut wanted = BTreeSet::new();
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(path) = open.pop() {
        let words: Vec<&str> = path.iter().map(String::as_str).collect();
        let below = commands(&words);
        open.extend(
            below
                .into_iter()
                .map(|name| [path.clone(), vec![name]].concat()),
        );
        let name = [vec!["muster"], words.clone()].concat().join("-") + ".1";
        let page = fs::read_to_string(folder.path().join(&name)).unwrap_or_default();
        let page = page.replace('\\', "");
        assert!(page.contains("SH NAME"), "{name} is missing or empty");
        let help = said(&run(MUSTER, &[&words[..], &["--help"]].concat()));
        let flags = help
            .split_whitespace()
            .filter(|word| word.starts_with("--") && word.len() > 2);
        for flag in flags {
            let flag = flag.trim_end_matches(|c: char| !c.is_alphanumeric());
            assert!(page.contains(flag), "{name}: {flag} is missing");
        }
        wanted.insert(name);
    }
    assert!(wanted.len() > 10, "{wanted:?}");
    let files = fs::read_dir(folder.path()).unwrap();
    let found: BTreeSet<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(found, wanted);
    let nowhere = run(MUSTER, &["man", "no/such/folder"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(text(&nowhere.stderr).contains("no/such/folder"));
}

#[test]
fn a_flag_may_be_given_by_its_variable_and_the_command_line_comes_first() {
    let help = said(&run(MUSTER, &["run", "--help"]));
    assert!(
        help.contains("[env: MUSTER_RUN_LEASE_NAMESPACE=]"),
        "{help}"
    );
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("empty.yaml");
    fs::write(
        &scenario,
        "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {allocatable: {cpu: '1'}}\n",
    )
    .unwrap();
    let simulate = |arguments: &[&str]| {
        let mut command = Command::new(MUSTER);
        command
            .env("MUSTER_SIMULATE_OUTPUT", "json")
            .arg("simulate");
        command.arg(&scenario).args(arguments).output().unwrap()
    };
    assert!(said(&simulate(&[])).starts_with('{'));
    assert!(!said(&simulate(&["--output", "table"])).starts_with('{'));
    let mut command = Command::new(MUSTER);
    let output = command
        .env("MUSTER_TOP_INTERVAL", "0s")
        .arg("top")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let complaint = text(&output.stderr);
    assert!(
        complaint.contains("'0s' for '--interval <DURATION>'"),
        "{complaint}"
    );
}

#[test]
fn top_is_for_a_terminal_unless_it_is_to_print_once() {
    let output = run(MUSTER, &["top"]);
    assert_eq!(output.status.code(), Some(2));
    let complaint = text(&output.stderr);
    assert!(complaint.contains("give --once"), "{complaint}");
    let output = run(MUSTER, &["top", "--once", "--kubeconfig", "no/such/file"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no/such/file"));
}

/// By krew's rules for a manifest, as its own validation has them.
#[test]
fn the_manifest_for_krew_is_one_of_this_version() {
    let manifest: Value =
        serde_saphyr::from_str(include_str!("../../deploy/krew/muster.yaml")).unwrap();
    assert_eq!(
        manifest["apiVersion"],
        "krew.googlecontainertools.github.com/v1alpha2"
    );
    assert_eq!(manifest["kind"], "Plugin");
    // kubectl runs what is called kubectl- and this name.
    assert_eq!(manifest["metadata"]["name"], "muster");
    let spec = &manifest["spec"];
    let version = concat!("v", env!("CARGO_PKG_VERSION"));
    assert_eq!(spec["version"], version);
    let short = spec["shortDescription"].as_str().unwrap();
    assert!(
        (1..=50).contains(&short.len()) && !short.ends_with('.'),
        "{short}"
    );
    let known = [
        "version",
        "homepage",
        "shortDescription",
        "description",
        "caveats",
        "platforms",
    ];
    assert!(
        spec.as_object()
            .unwrap()
            .keys()
            .all(|field| known.contains(&field.as_str()))
    );
    let mut places = BTreeSet::new();
    for platform in spec["platforms"].as_array().unwrap() {
        let labels = &platform["selector"]["matchLabels"];
        let place = ["os", "arch"].map(|label| labels[label].as_str().unwrap());
        assert!(places.insert(place), "{place:?} twice");
        let address = platform["uri"].as_str().unwrap();
        let file = format!("/{version}/muster-{}.tar.gz", place.join("-"));
        assert!(
            address.starts_with("https://") && address.ends_with(&file),
            "{address}"
        );
        let sum = platform["sha256"].as_str().unwrap();
        assert!(
            sum.len() == 64 && sum.chars().all(|c| c.is_ascii_hexdigit()),
            "{sum}"
        );
        assert_eq!(platform["bin"], "kubectl-muster");
        let files = platform["files"].as_array().unwrap();
        assert!(files.iter().any(|file| file["to"] == platform["bin"]));
        assert!(
            files.iter().any(|file| file["from"] == "LICENSE"),
            "krew wants a licence"
        );
    }
    assert_eq!(
        places,
        BTreeSet::from([["linux", "amd64"], ["linux", "arm64"]])
    );
    // Each command that it promises is one.
    let described = spec["description"].as_str().unwrap().split('`');
    let promised = described.filter_map(|part| part.strip_prefix("kubectl muster "));
    let names: Vec<&str> = promised.filter_map(|rest| rest.split(' ').next()).collect();
    assert!(names.len() > 3);
    let there = commands(&[]);
    assert!(
        names.iter().all(|name| there.iter().any(|one| one == name)),
        "{names:?}"
    );
}
