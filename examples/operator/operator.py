#!/usr/bin/env python3
"""An operator with a kind of its own, TrainingRun, whose pods start together or not at all.

    kubectl proxy & ./operator.py
    ./operator.py --server https://HOST --token-file FILE --ca-file FILE

What makes the pods of a run one gang is in `scheduling_spec` and `pod`: a SchedulingSpec with the run's name, the
annotation with that name on each pod, and on all of them an ownerReference to the run with `controller: true`, by which
Kubernetes deletes them with it. Everything else is what any operator does: look, make what is missing, say how it is.
"""
import argparse
import json
import ssl
import time
from urllib import error, request

KIND = {"apiVersion": "training.example.com/v1", "kind": "TrainingRun"}
RUNS = "/apis/training.example.com/v1"
SPECS = "/apis/muster.dev/v1alpha1"
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"


class Api:
    def __init__(self, options):
        self.server, self.token, self.tls = options.server, None, None
        if options.token_file:
            with open(options.token_file, encoding="utf-8") as file:
                self.token = file.read().strip()
        if options.server.startswith("https:"):
            self.tls = ssl.create_default_context(cafile=options.ca_file)

    def ask(self, method, path, body=None, kind="application/json"):
        headers = {"Content-Type": kind} | ({"Authorization": f"Bearer {self.token}"} if self.token else {})
        data = json.dumps(body).encode() if body is not None else None
        wanted = request.Request(self.server + path, data, headers, method=method)
        with request.urlopen(wanted, timeout=30, context=self.tls) as answer:
            return json.load(answer)


def owned(run, name):
    meta = run["metadata"]
    owner = {**KIND, "name": meta["name"], "uid": meta["uid"], "controller": True}
    return {"name": name, "namespace": meta["namespace"], "ownerReferences": [owner]}


def scheduling_spec(run):
    """How its pods are scheduled. It has the run's name: so Muster finds it by who controls the pods."""
    wanted = run["spec"].get("minAvailable", run["spec"]["workers"])
    return {
        "apiVersion": "muster.dev/v1alpha1", "kind": "SchedulingSpec",
        "metadata": owned(run, run["metadata"]["name"]), "spec": {"minAvailable": wanted},
    }


def pod(run, index):
    """A worker. By the annotation it waits for the SchedulingSpec, whichever of the two comes first."""
    name, template = run["metadata"]["name"], run["spec"]["template"]
    meta = template.get("metadata", {}) | owned(run, f"{name}-{index}")
    meta["labels"] = meta.get("labels", {}) | {"training.example.com/run": name}
    meta["annotations"] = meta.get("annotations", {}) | {"muster.dev/scheduling-spec": name}
    spec = {"restartPolicy": "Never"} | template["spec"] | {"schedulerName": "muster"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def is_of(run, thing):
    owners = thing["metadata"].get("ownerReferences", [])
    return any(one["uid"] == run["metadata"]["uid"] and one.get("controller") for one in owners)


def status(run, pods, spec):
    """What is so: of its pods, and, while it waits, Muster's words of the gang."""
    phases = [one.get("status", {}).get("phase") for one in pods]
    count = {phase: phases.count(phase) for phase in ("Running", "Succeeded", "Failed")}
    if count["Failed"]:
        phase = "Failed"
    elif count["Succeeded"] == run["spec"]["workers"]:
        phase = "Succeeded"
    else:
        phase = "Running" if count["Running"] + count["Succeeded"] else "Pending"
    said = [one for one in (spec or {}).get("status", {}).get("conditions", []) if one["type"] == "Scheduled"]
    message = said[0].get("message", "") if said and phase == "Pending" else ""
    return {"phase": phase, "running": count["Running"], "succeeded": count["Succeeded"], "message": message}


def reconcile(api, run, pods, specs):
    meta, old = run["metadata"], run.get("status", {})
    if meta.get("deletionTimestamp") or old.get("phase") in ("Succeeded", "Failed"):
        return
    there = [one for one in pods if is_of(run, one)]
    names = {one["metadata"]["name"] for one in there}
    spec = next((one for one in specs if is_of(run, one)), None)
    space = f"namespaces/{meta['namespace']}"
    api.ask("PATCH", f"{SPECS}/{space}/schedulingspecs/{meta['name']}?fieldManager=training", scheduling_spec(run), APPLY)
    for index in range(run["spec"]["workers"]):
        if f"{meta['name']}-{index}" not in names:
            api.ask("POST", f"/api/v1/{space}/pods", pod(run, index))
    new = status(run, there, spec)
    if new != old:
        api.ask("PATCH", f"{RUNS}/{space}/trainingruns/{meta['name']}/status", {"status": new}, MERGE)


def look(api):
    pods = api.ask("GET", "/api/v1/pods?labelSelector=training.example.com/run")["items"]
    specs = api.ask("GET", f"{SPECS}/schedulingspecs")["items"]
    for run in api.ask("GET", f"{RUNS}/trainingruns")["items"]:
        try:
            reconcile(api, run, pods, specs)
        except error.HTTPError as no:
            # Such as the pods of an earlier run of this name, which are still going: it is tried again.
            print(f"{run['metadata']['name']}: {no.read().decode()}", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--server", default="http://127.0.0.1:8001", help="an API server, or kubectl proxy")
    options.add_argument("--token-file")
    options.add_argument("--ca-file")
    api = Api(options.parse_args())
    while True:
        try:
            look(api)
        except OSError as lost:
            print(f"not now: {lost}", flush=True)
        time.sleep(1)


if __name__ == "__main__":
    main()
