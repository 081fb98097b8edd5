//! What Kubernetes' own end-to-end tests come to is in the documents as `hack/e2e` has it.

use std::collections::BTreeSet;

const KNOWN: &str = include_str!("../../hack/e2e-suite/known");
const PARITY: &str = include_str!("../../docs/kubernetes-parity.md");

/// A test as the document calls it: without what stands in brackets.
fn short(name: &str) -> String {
    let words = name.split(' ').filter(|word| !word.starts_with('['));
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn every_test_that_does_not_pass_is_in_the_documents_with_its_reason_and_no_other() {
    let lines = KNOWN.lines().filter(|line| !line.starts_with('#'));
    let known: BTreeSet<String> = lines
        .map(|line| {
            let parts: Vec<&str> = line.split(" | ").collect();
            let [kind, name, why] = parts[..] else {
                panic!("{line}: not three parts")
            };
            let kind = kind.trim();
            assert!(
                ["fails", "varies", "skip"].contains(&kind),
                "{line}: {kind}"
            );
            format!("| {} | {kind} | {why} |", short(name))
        })
        .collect();
    let sections = PARITY.split("\n## ");
    let section = sections
        .filter(|one| one.starts_with("Kubernetes' own end-to-end tests\n"))
        .collect::<Vec<_>>();
    assert_eq!(section.len(), 1);
    let rows = section[0].lines();
    let kinds = ["| fails |", "| varies |", "| skip |"];
    let rows = rows.filter(|line| kinds.iter().any(|kind| line.contains(kind)));
    let documented: BTreeSet<String> = rows.map(str::to_owned).collect();
    assert_eq!(known, documented);
}

/// What both have is compiled once, and the tests are those of the control plane they run on.
#[test]
fn the_tests_and_the_control_plane_have_the_same_versions() {
    let versions = |text: &'static str| {
        let lines = text.lines().filter(|line| !line.contains("=>"));
        let pairs = lines.filter_map(|line| {
            let mut words = line.split_whitespace().filter(|word| *word != "require");
            let module = words.next()?;
            let version = words.next().filter(|word| word.starts_with('v'))?;
            Some((module, version))
        });
        pairs.collect::<std::collections::BTreeMap<_, _>>()
    };
    let ours = versions(include_str!("../../hack/e2e-suite/go.mod"));
    let theirs = versions(include_str!("../../hack/control-plane/go.mod"));
    assert!(ours.contains_key("k8s.io/kubernetes"), "{ours:?}");
    for (module, version) in ours {
        let other = theirs.get(module).unwrap_or(&version);
        assert_eq!(*other, version, "{module}");
    }
}
