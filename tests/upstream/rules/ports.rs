//! Ports of the node.

use super::super::case::Case;
use super::super::dice::Dice;
use serde_json::{Value, json};

pub(super) fn add(case: &mut Case, dice: &mut Dice) {
    for pod in case.all_pods() {
        if dice.percent(15) {
            dice.note("ports: host network");
            pod["spec"]["hostNetwork"] = json!(true);
        }
        let on_host = pod["spec"]["hostNetwork"] == json!(true);
        for lists in ["containers", "initContainers"] {
            for container in pod["spec"][lists].as_array_mut().into_iter().flatten() {
                if dice.percent(60) {
                    container["ports"] = (0..dice.between(1, 2))
                        .map(|_| port(on_host, dice))
                        .collect();
                }
            }
        }
    }
}

fn port(on_host: bool, dice: &mut Dice) -> Value {
    let number = dice.one_of(&[80, 81]);
    let mut port = json!({"containerPort": number});
    if !on_host && dice.percent(80) {
        port["hostPort"] = json!(number);
    }
    if let Some(protocol) = dice.one_of(&[None, Some("TCP"), Some("UDP"), Some("SCTP")]) {
        dice.note(format!("ports: {protocol}"));
        port["protocol"] = json!(protocol);
    }
    if let Some(ip) = dice.one_of(&[
        None,
        None,
        Some("0.0.0.0"),
        Some("10.0.0.1"),
        Some("10.0.0.2"),
        Some("::"),
    ]) {
        dice.note(format!("ports: on {ip}"));
        port["hostIP"] = json!(ip);
    }
    port
}
