#!/usr/bin/env python3
"""Finds out how well BatchJobs run beside each other: every pair of them once, together on the nodes of a Testbed.

    kubectl create token profiler --audience=muster.dev/external > token
    ./profiler.py --testbed bed --token-file token

Each pair runs as a Scheduling: the first job on one slot of each node, the second on the next slot of the same nodes.
How long each of them took is kept in the BatchJob itself, so that what is known already is not measured again, and
printed as a matrix: a row says how many seconds a job took beside the job of each column.
"""
import argparse
import datetime
import json
import sys
import time
from urllib import error, request


class Muster:
    def __init__(self, server, token, namespace):
        self.root, self.token = f"{server}/api/v1", token
        self.space = f"{self.root}/namespaces/{namespace}"

    def ask(self, method, url, body=None):
        headers = {"Authorization": f"Bearer {self.token}"}
        data = json.dumps(body).encode() if body else None
        for attempt in range(5):
            try:
                with request.urlopen(request.Request(url, data, headers, method=method), timeout=30) as answer:
                    text = answer.read()
                    return json.loads(text) if text else None
            except error.HTTPError as no:
                if no.code == 404:
                    return None
                if no.code != 503 or attempt == 4:
                    sys.exit(f"{method} {url}: {no.read().decode()}")
                time.sleep(1 + attempt)


def slots(testbed, offset):
    return [slot["position"] for slot in testbed["slots"] if slot["nodePosition"] == offset]


def run(muster, testbed, pair, patience):
    """Runs a pair; returns how many seconds each of the two took, or None where it failed."""
    scheduling = f"{muster.space}/schedulings/profile-{pair[0]}-{pair[1]}"
    muster.ask("DELETE", scheduling)
    while muster.ask("GET", scheduling):
        time.sleep(0.5)
    jobs = [{"name": job, "slots": slots(testbed, at)} for at, job in enumerate(pair)]
    wish = {"testbed": testbed["name"], "slotBased": {"mode": "relaxed", "jobs": jobs}}
    muster.ask("POST", f"{muster.space}/schedulings", {"name": scheduling.rsplit("/", 1)[1], **wish})
    end, state = time.time() + patience, None
    while state not in ("Completed", "Failed") and time.time() < end:
        time.sleep(1)
        state = (muster.ask("GET", scheduling) or {}).get("state")
    took = {job: seconds(muster.ask("GET", f"{muster.space}/batchjobs/{job}")) for job in pair}
    muster.ask("DELETE", scheduling)
    return took if state == "Completed" else {job: None for job in pair}


def seconds(job):
    if not job or not (job["startedAt"] and job["completedAt"]):
        return None
    times = (job[key].replace("Z", "+00:00") for key in ("startedAt", "completedAt"))
    start, stop = map(datetime.datetime.fromisoformat, times)
    return (stop - start).total_seconds()


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--server", default="http://127.0.0.1:10272")
    options.add_argument("--namespace", default="default")
    for name in ("--testbed", "--token-file"):
        options.add_argument(name, required=True)
    options.add_argument("--patience", type=float, default=3600, help="seconds that a pair may take")
    options = options.parse_args()
    with open(options.token_file, encoding="utf-8") as file:
        muster = Muster(options.server, file.read().strip(), options.namespace)
    testbed = muster.ask("GET", f"{muster.root}/testbeds/{options.testbed}")
    if not testbed or not slots(testbed, 1):
        sys.exit(f"Testbed {options.testbed}: is not there, or has fewer than two slots on a node")
    jobs = muster.ask("GET", f"{muster.space}/batchjobs")["items"]
    stores = {job["name"]: job["externalScheduler"] for job in jobs}
    names = sorted(stores)
    for pair in [(one, two) for at, one in enumerate(names) for two in names[at + 1:]]:
        if pair[1] in stores[pair[0]].get("profiler", {}):
            continue
        took = run(muster, testbed, pair, options.patience)
        for job, other in (pair, pair[::-1]):
            stores[job].setdefault("profiler", {})[other] = took[job]
            muster.ask("PUT", f"{muster.space}/batchjobs/{job}/external-scheduler", stores[job])
    print("\t".join([""] + names))
    for job in names:
        print("\t".join([job] + [str(stores[job].get("profiler", {}).get(other, "-")) for other in names]))


if __name__ == "__main__":
    main()
