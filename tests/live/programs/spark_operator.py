"""A stand-in for the Spark operator: runs the real spark-submit for SparkApplications, and keeps their status.

    spark_operator.py --kubeconfig FILE --spark-home FOLDER --work FOLDER [--no-webhook]

States, their order, labels and owners are those that the operator has (sparkoperator.k8s.io/v1beta2). What the operator's
webhook writes into pods (owner, scheduler, priority class, affinity, tolerations) comes by pod templates here, and is not
there with --no-webhook. It makes no PodGroups: `batchScheduler` is not for it.
"""
import argparse
import json
import os
import signal
import subprocess
import threading
import uuid

import spark_image as image
from api import Api, beside, now, pods

GROUP = "sparkoperator.k8s.io"
KIND = "sparkapplications"
OVER = ("COMPLETED", "FAILED")
OF_POD = {"Pending": "PENDING", "Running": "RUNNING", "Succeeded": "COMPLETED", "Failed": "FAILED"}
# Which field of driver and executor is which field of a pod, by the webhook.
WRITTEN = ("schedulerName", "priorityClassName", "affinity", "tolerations", "nodeSelector")


def settings(app, submission, server):
    """The settings of Spark that the operator makes of an application."""
    meta, spec = app["metadata"], app["spec"]
    name = meta["name"]
    found = {
        "spark.kubernetes.namespace": meta["namespace"],
        "spark.kubernetes.container.image": spec.get("image", ""),
        "spark.kubernetes.submission.waitAppCompletion": "false",
        "spark.kubernetes.driver.master": server,
        **spec.get("sparkConf", {}),
        "spark.kubernetes.driver.pod.name": f"{name}-driver",
    }
    if "memoryOverheadFactor" in spec:
        found["spark.kubernetes.memoryOverheadFactor"] = spec["memoryOverheadFactor"]
    for role in ("driver", "executor"):
        pod = spec.get(role, {})
        labels = {
            f"{GROUP}/app-name": name,
            f"{GROUP}/launched-by-spark-operator": "true",
            f"{GROUP}/mutated-by-spark-operator": "true",
            f"{GROUP}/submission-id": submission,
            **meta.get("labels", {}), **pod.get("labels", {}),
        }
        found |= {f"spark.kubernetes.{role}.label.{key}": value for key, value in labels.items()}
        annotations = pod.get("annotations", {})
        found |= {f"spark.kubernetes.{role}.annotation.{key}": value for key, value in annotations.items()}
        keys = {
            "cores": f"spark.{role}.cores",
            "coreRequest": f"spark.kubernetes.{role}.request.cores",
            "coreLimit": f"spark.kubernetes.{role}.limit.cores",
            "memory": f"spark.{role}.memory",
            "memoryOverhead": f"spark.{role}.memoryOverhead",
            "javaOptions": f"spark.{role}.extraJavaOptions",
        }
        found |= {key: str(pod[field]) for field, key in keys.items() if field in pod}
        found |= {f"spark.{role}Env.{key}": value for key, value in pod.get("envVars", {}).items()}
    if "instances" in spec.get("executor", {}):
        found["spark.executor.instances"] = str(spec["executor"]["instances"])
    return found


def template(app, role):
    """What the webhook writes into a pod, as a template of it."""
    owner = {
        "apiVersion": f"{GROUP}/v1beta2", "kind": "SparkApplication",
        "name": app["metadata"]["name"], "uid": app["metadata"]["uid"],
    }
    if role == "driver":
        owner |= {"controller": True, "blockOwnerDeletion": True}
    pod = app["spec"].get(role, {})
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"ownerReferences": [owner]},
        "spec": {field: pod[field] for field in WRITTEN if field in pod},
    }


class Application:
    """A SparkApplication, and what is known of its pods."""

    def __init__(self, operator, app):
        self.operator, self.app = operator, app
        meta = app["metadata"]
        self.namespace, self.name = meta["namespace"], meta["name"]
        self.status = {}
        self.executors = {}
        self.lock = threading.Lock()

    def say(self, state, **more):
        """Writes its status."""
        with self.lock:
            is_other = self.status.get("applicationState", {}).get("state") != state
            status = {**self.status, "applicationState": {"state": state}, "executorState": dict(self.executors), **more}
            if status == self.status:
                return
            self.status = status
            if is_other:
                print(f"{self.name} is {state}", flush=True)
            path = f"/apis/{GROUP}/v1beta2/namespaces/{self.namespace}/{KIND}/{self.name}/status"
            self.operator.api.patch(path, {"metadata": {"uid": self.app["metadata"]["uid"]}, "status": status})

    @property
    def state(self):
        return self.status.get("applicationState", {}).get("state", "")

    def submit(self):
        """Runs spark-submit."""
        submission = str(uuid.uuid4())
        self.operator.submissions[submission] = self
        folder = os.path.join(self.operator.work, submission)
        os.makedirs(folder)
        conf = settings(self.app, submission, self.operator.api.server)
        if self.operator.webhook:
            for role in ("driver", "executor"):
                file = os.path.join(folder, f"{role}.yaml")
                with open(file, "w", encoding="utf-8") as written:
                    json.dump(template(self.app, role), written)
                conf[f"spark.kubernetes.{role}.podTemplateFile"] = file
        spec = self.app["spec"]
        command = [
            os.path.join(self.operator.spark_home, "bin", "spark-submit"),
            "--master", f"k8s://{self.operator.api.server}", "--deploy-mode", spec["mode"], "--name", self.name,
        ]
        if "mainClass" in spec:
            command += ["--class", spec["mainClass"]]
        for key, value in conf.items():
            command += ["--conf", f"{key}={value}"]
        command += [spec["mainApplicationFile"], *spec.get("arguments", [])]
        self.status = {
            "submissionID": submission, "lastSubmissionAttemptTime": now(), "terminationTime": None,
            "submissionAttempts": 1, "executionAttempts": 1,
        }
        env = os.environ | {
            "SPARK_HOME": self.operator.spark_home, "KUBECONFIG": self.operator.kubeconfig,
            "SPARK_LOCAL_IP": image.HERE, "JAVA_TOOL_OPTIONS": image.QUICK,
        }
        with open(os.path.join(folder, "log"), "wb") as log:
            process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.operator.processes.append(process)
        code = process.wait()
        path = pods(self.namespace, f"{self.name}-driver")
        driver = self.operator.api.find(path)
        if code != 0 or driver is None:
            with open(os.path.join(folder, "log"), encoding="utf-8", errors="replace") as log:
                words = log.read()[-2000:]
            print(words, flush=True)
            self.say("SUBMISSION_FAILED", errorMessage=words)
            # What is not to be tried again has failed.
            self.say("FAILED", terminationTime=now())
            return
        with self.lock:
            self.status["driverInfo"] = {"podName": f"{self.name}-driver"}
            self.status["sparkApplicationId"] = driver["metadata"]["labels"]["spark-app-selector"]
        self.say("SUBMITTED")
        # From here on it is told of changes; it may have changed before.
        self.driver_is(self.operator.api.find(path) or driver)

    def driver_is(self, pod):
        """The driver is so: the state of all follows it."""
        phase = pod.get("status", {}).get("phase")
        if not self.state or self.state in OVER:
            return
        if phase == "Running":
            self.say("RUNNING")
        elif phase in ("Succeeded", "Failed"):
            self.say("SUCCEEDING" if phase == "Succeeded" else "FAILING")
            self.say("COMPLETED" if phase == "Succeeded" else "FAILED", terminationTime=now())

    def pod_is(self, gone, pod):
        """One of its pods is so, or gone."""
        name, role = pod["metadata"]["name"], pod["metadata"]["labels"].get("spark-role")
        if role == "driver":
            if not gone:
                self.driver_is(pod)
            elif self.state and self.state not in OVER:
                self.say("FAILING")
                self.say("FAILED", terminationTime=now())
            return
        state = OF_POD.get(pod.get("status", {}).get("phase"), "UNKNOWN")
        if gone and state in ("PENDING", "RUNNING"):
            state = "COMPLETED" if self.state in OVER else "FAILED"
        with self.lock:
            self.executors[name] = state
        if self.state and self.state not in OVER:
            self.say(self.state)


class Operator:
    """All SparkApplications."""

    def __init__(self, arguments):
        self.api = Api(arguments.kubeconfig)
        self.kubeconfig = os.path.abspath(arguments.kubeconfig)
        self.spark_home = os.path.abspath(arguments.spark_home)
        self.work = os.path.abspath(arguments.work)
        self.webhook = arguments.webhook
        self.known = {}
        self.submissions = {}
        self.processes = []

    def application(self, gone, app):
        """A SparkApplication is so, or gone."""
        uid = app["metadata"]["uid"]
        if gone:
            known = self.known.pop(uid, None)
            if known:
                self.api.delete(pods(known.namespace, f"{known.name}-driver"))
        elif uid not in self.known and not app.get("status", {}).get("applicationState"):
            self.known[uid] = Application(self, app)
            beside(self.known[uid].submit)

    def pod(self, gone, pod):
        """A pod of a SparkApplication is so, or gone."""
        known = self.submissions.get(pod["metadata"]["labels"].get(f"{GROUP}/submission-id"))
        if known:
            known.pod_is(gone, pod)

    def stop(self, *_):
        """Ends with all its processes."""
        for process in self.processes:
            process.kill()
        os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("kubeconfig", "spark-home", "work"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--no-webhook", dest="webhook", action="store_false", help="do not do what the webhook does")
    operator = Operator(parser.parse_args())
    signal.signal(signal.SIGTERM, operator.stop)
    # Who started it holds its standard input: it ends with that.
    beside(lambda: (os.read(0, 1), operator.stop()))
    selector = f"{GROUP}/launched-by-spark-operator=true"
    beside(operator.api.follow, "/api/v1/pods", operator.pod, selector)
    operator.api.follow(f"/apis/{GROUP}/v1beta2/{KIND}", operator.application)


if __name__ == "__main__":
    main()
