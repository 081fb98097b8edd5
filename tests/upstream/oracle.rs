//! Kubernetes' own filters, in a process of their own.

use super::case::Case;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What a node says; without reasons it fits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Verdict {
    pub(crate) plugin: String,
    pub(crate) code: String,
    pub(crate) reasons: Vec<String>,
}

/// What kube-scheduler makes of a case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Answer {
    pub(crate) error: String,
    pub(crate) gated: Option<Verdict>,
    pub(crate) pre_filter: Option<Verdict>,
    pub(crate) nodes: BTreeMap<String, Verdict>,
    pub(crate) message: String,
    pub(crate) scores: BTreeMap<String, BTreeMap<String, i64>>,
    pub(crate) requests: BTreeMap<String, BTreeMap<String, i64>>,
}

impl Verdict {
    pub(crate) fn fits(&self) -> bool {
        self.code.is_empty()
    }
}

impl Answer {
    /// The nodes that fit.
    pub(crate) fn fit(&self) -> impl Iterator<Item = &String> {
        let fit = self.nodes.iter().filter(|(_, verdict)| verdict.fits());
        fit.map(|(name, _)| name)
    }
}

/// What is honoured where an API server takes it; by default it refuses or drops it.
const GATES: &str = "TaintTolerationComparisonOperators=true,UserNamespacesHostNetworkSupport=true,\
    VolumeBindMountOptions=true";

/// The process.
pub(crate) struct Oracle {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Oracle {
    pub(crate) fn start() -> Self {
        let program = muster_devcluster::find_program("filters").unwrap();
        let mut child = Command::new(program)
            .arg(format!("--feature-gates={GATES}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            questions: child.stdin.take().unwrap(),
            answers: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    /// Asks; there is an answer to every question, in the same order.
    pub(crate) fn send(&mut self, case: &Case) {
        writeln!(self.questions, "{}", case.question()).unwrap();
        self.questions.flush().unwrap();
    }

    pub(crate) fn answer(&mut self) -> Answer {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    pub(crate) fn ask(&mut self, case: &Case) -> Answer {
        self.send(case);
        self.answer()
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // It would end by itself with its input.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
