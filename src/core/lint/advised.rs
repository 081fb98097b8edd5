//! What plugins in other processes said of nodes: no pod is bound to a node of which the last answer about
//! it says that it does not suit.

use super::Note;
use muster_model::{Answer, Bind, Body, PodKey, Question, QuestionId, RemoteAnswer, RemotePoint};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Who says something, and where.
type Speaker = (Arc<str>, RemotePoint);

/// What was said last.
#[derive(Clone, Debug, Default)]
pub(super) struct Advised {
    open: BTreeMap<QuestionId, (Speaker, Vec<PodKey>, BTreeSet<String>)>,
    unfit: BTreeMap<PodKey, BTreeMap<Speaker, Arc<BTreeSet<String>>>>,
}

impl Advised {
    /// Something is asked about nodes.
    pub(super) fn ask(&mut self, question: &Question) {
        let Body::Remote(asked) = &question.body else {
            return;
        };
        let speaker = (Arc::clone(&asked.plugin), asked.point);
        let pods = asked.pods.iter().map(|pod| pod.key.clone()).collect();
        let nodes = asked.nodes.iter().map(|node| node.name.clone()).collect();
        self.open.insert(question.id, (speaker, pods, nodes));
    }

    /// It is answered.
    pub(super) fn hear(&mut self, id: QuestionId, answer: &Answer) {
        let Some((speaker, pods, asked)) = self.open.remove(&id) else {
            return;
        };
        let unfit = match answer {
            Answer::OfNodes(RemoteAnswer::Nodes(verdicts)) => {
                let mut unfit: BTreeSet<String> = verdicts
                    .refused
                    .iter()
                    .map(|(node, _)| node.clone())
                    .collect();
                if let Some((only, _)) = &verdicts.only {
                    unfit.extend(asked.iter().filter(|node| !only.contains(node)).cloned());
                }
                if verdicts.none.is_some() {
                    unfit.extend(asked);
                }
                unfit
            }
            Answer::No { .. } => asked,
            // Nothing is known of any node, and that is no reason for a plugin that may be left out.
            _ => BTreeSet::new(),
        };
        let unfit = Arc::new(unfit);
        for pod in pods {
            let of_pod = self.unfit.entry(pod).or_default();
            of_pod.insert(speaker.clone(), Arc::clone(&unfit));
        }
    }

    /// A pod is gone.
    pub(super) fn forget(&mut self, pod: &PodKey) {
        self.unfit.remove(pod);
    }

    /// Whether a bind is to a node that does not suit. What was said of one of these counts for it as well: they may need
    /// the same by now.
    pub(super) fn unfit(&self, order: &Bind, like_it: impl Fn(&PodKey) -> bool) -> Option<Note> {
        let of_pod = self.unfit.get(&order.pod)?;
        let suits = |speaker: &Speaker| {
            let others = self.unfit.iter().filter(|(pod, _)| like_it(pod));
            let mut said = others.filter_map(|(_, said)| said.get(speaker));
            said.any(|unfit| !unfit.contains(&order.node))
        };
        let mut said = of_pod.iter();
        let refuses = |speaker: &Speaker, unfit: &BTreeSet<String>| {
            unfit.contains(&order.node) && !suits(speaker)
        };
        let (speaker, _) = said.find(|(speaker, unfit)| refuses(speaker, unfit))?;
        let ((plugin, point), Bind { pod, node, .. }) = (speaker, order);
        let point = point.as_str();
        Some(format!(
            "bind of {pod} to {node}: {plugin} refused it at {point}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::units::Millis;
    use muster_model::{About, AskedGang, AskedNode, AskedPod, RemoteQuestion};

    #[test]
    fn a_bind_to_a_node_that_a_plugin_refused_last_is_noted() {
        let pod = PodKey {
            name: "p".to_owned(),
            ..PodKey::default()
        };
        let node = |name: &str| AskedNode {
            name: name.to_owned(),
            labels: Vec::new(),
        };
        let question = |id| Question {
            id: QuestionId(id),
            about: About::Gang(AskedGang::default().key),
            body: Body::Remote(Box::new(RemoteQuestion {
                plugin: "licences".into(),
                point: RemotePoint::Filter,
                gang: AskedGang::default(),
                pods: vec![AskedPod {
                    key: pod.clone(),
                    ..AskedPod::default()
                }],
                pod_count: 1,
                nodes: vec![node("a"), node("b")].into(),
            })),
            at_most: Millis(1),
            leaves_traces: false,
            undoes: None,
        };
        let bind = |node: &str| Bind {
            pod: pod.clone(),
            node: node.to_owned(),
            slot: None,
            completes: false,
            asks: None,
        };
        let refused = |node: &str| {
            Answer::OfNodes(RemoteAnswer::Nodes(muster_model::NodeVerdicts {
                refused: vec![(node.to_owned(), String::new())],
                ..Default::default()
            }))
        };
        let nobody = |_: &PodKey| false;
        let mut advised = Advised::default();
        advised.ask(&question(1));
        advised.hear(QuestionId(1), &refused("a"));
        assert!(advised.unfit(&bind("a"), nobody).is_some());
        assert_eq!(advised.unfit(&bind("b"), nobody), None);
        advised.ask(&question(2));
        advised.hear(QuestionId(2), &refused("b"));
        assert_eq!(advised.unfit(&bind("a"), nobody), None);
        assert!(advised.unfit(&bind("b"), nobody).is_some());
        let other = PodKey {
            name: "q".to_owned(),
            ..PodKey::default()
        };
        let of_other = advised.unfit[&pod].keys().next().cloned().unwrap();
        let suits = Arc::new(BTreeSet::new());
        let of_other = BTreeMap::from([(of_other, suits)]);
        advised.unfit.insert(other.clone(), of_other);
        assert!(advised.unfit(&bind("b"), nobody).is_some());
        assert_eq!(advised.unfit(&bind("b"), |one| *one == other), None);
        advised.forget(&pod);
        assert_eq!(advised.unfit(&bind("b"), nobody), None);
    }
}
