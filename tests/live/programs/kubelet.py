"""A kubelet for all nodes that runs the pods of some images as processes on loopback, without containers.

    kubelet.py --kubeconfig FILE --work FOLDER --image spark=FOLDER ...

What an image's entry point does is in a file named after it; its programs are in the FOLDER. Each pod has an address.

It waits until a pod is bound, as a kubelet does, and mounts its ConfigMaps as folders; where the pod names such a mount,
it is given the folder. Pods of other images are said to run, and do nothing. What the processes print is in
WORK/NAMESPACE_NAME/log.
"""
import argparse
import os
import signal
import subprocess
import threading
import time

import flink_image
import shell_image
import spark_image
from api import PASSING, Api, Refused, beside, now, pods

PATIENCE = 60
IMAGES = {"spark": spark_image, "flink": flink_image, "shell": shell_image}


class Pod:
    """A pod on one of the nodes."""

    def __init__(self, kubelet, pod):
        meta = pod["metadata"]
        self.kubelet = kubelet
        self.namespace, self.name, self.uid = meta["namespace"], meta["name"], meta["uid"]
        self.spec = pod["spec"]
        self.container = self.spec["containers"][0]
        self.labels, self.annotations = meta.get("labels", {}), meta.get("annotations", {})
        self.home = kubelet.images.get(self.container.get("image"))
        self.address = kubelet.address()
        self.folder = os.path.join(kubelet.work, f"{self.namespace}_{self.name}")
        self.process = None
        self.going = False
        # Who runs it and who stops it are two threads.
        self.lock = threading.Lock()
        self.ended = threading.Event()

    @property
    def path(self):
        return pods(self.namespace, self.name)

    def run(self):
        """From its binding to its end."""
        try:
            if self.home is None:
                self.say("Running", {"running": {"startedAt": now()}})
            elif self.start():
                self.say("Running", {"running": {"startedAt": now()}})
                code = self.process.wait()
                if self.spec.get("restartPolicy") == "Always" and not self.going:
                    # It is as one that will be started again, in good time.
                    print(f"{self.name} has ended with {code}, and waits", flush=True)
                else:
                    self.end(code)
        except (*PASSING, KeyError, Refused) as error:
            print(f"{self.name} cannot run: {error}", flush=True)
            self.end(128)
        finally:
            self.ended.set()

    def start(self):
        """Starts its process; whether it is still wanted."""
        mounts = self.mount()
        def at_home(text):
            # The longest first: one may be inside another.
            for path in sorted(mounts, key=len, reverse=True):
                text = text.replace(path, mounts[path])
            return text
        for folder in mounts.values():
            for name in os.listdir(folder):
                file = os.path.join(folder, name)
                if os.path.isfile(file):
                    with open(file, encoding="utf-8") as mounted:
                        text = mounted.read()
                    with open(file, "w", encoding="utf-8") as mounted:
                        mounted.write(at_home(text))
        env = {one["name"]: at_home(self.value(one)) for one in self.container.get("env", [])}
        args = [at_home(word) for word in self.container.get("args", [])]
        command, own = IMAGES[self.container["image"]].command(self, args, env)
        env = os.environ | env | own | {"KUBECONFIG": self.kubelet.kubeconfig}
        with self.lock:
            if self.going:
                return False
            with open(os.path.join(self.folder, "log"), "wb") as log:
                self.process = subprocess.Popen(
                    command, env=env, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    start_new_session=True,
                )
        print(f"{self.name} runs as process {self.process.pid} on {self.spec['nodeName']}", flush=True)
        return True

    def mount(self):
        """Where its mounts are on this machine."""
        volumes = {volume["name"]: volume for volume in self.spec.get("volumes", [])}
        mounts = {}
        for mount in self.container.get("volumeMounts", []):
            volume = volumes[mount["name"]]
            folder = os.path.join(self.folder, mount["name"])
            os.makedirs(folder, exist_ok=True)
            if "configMap" in volume:
                self.write(volume["configMap"], folder)
            elif "emptyDir" not in volume:
                continue
            mounts[mount["mountPath"]] = folder
        os.makedirs(self.folder, exist_ok=True)
        return mounts

    def write(self, source, folder):
        """Writes a ConfigMap, which may come after the pod."""
        path = f"/api/v1/namespaces/{self.namespace}/configmaps/{source['name']}"
        until = time.monotonic() + PATIENCE
        found = self.kubelet.api.find(path)
        while found is None and not self.going:
            if time.monotonic() > until:
                raise ValueError(f"there is no ConfigMap {source['name']}")
            time.sleep(0.1)
            found = self.kubelet.api.find(path)
        data = (found or {}).get("data", {})
        items = source.get("items") or [{"key": key, "path": key} for key in data]
        for item in items:
            with open(os.path.join(folder, item["path"]), "w", encoding="utf-8") as file:
                file.write(data.get(item["key"], ""))

    def value(self, variable):
        """What a variable of its environment is."""
        field = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        known = {"status.podIP": self.address, "metadata.name": self.name, "metadata.namespace": self.namespace}
        known |= {f"metadata.annotations['{key}']": value for key, value in self.annotations.items()}
        return known.get(field, "") if field else variable.get("value", "")

    def stop(self, grace):
        """Its end is asked for: its process is told to end, and made to."""
        with self.lock:
            self.going = True
        if self.process is not None:
            self.signal(signal.SIGTERM)
        if not self.ended.wait(grace) and self.process is not None:
            self.signal(signal.SIGKILL)
            self.ended.wait()
        precondition = {"gracePeriodSeconds": 0, "preconditions": {"uid": self.uid}}
        self.kubelet.api.delete(self.path, precondition)

    def signal(self, which):
        """To all that belongs to its process."""
        try:
            os.killpg(self.process.pid, which)
        except ProcessLookupError:
            pass

    def end(self, code):
        """Says how its process ended."""
        # One that was told to end and did has not failed; it is what Spark's executors do at the end.
        done = code == 0 or self.going and code in (143, -signal.SIGTERM)
        print(f"{self.name} has ended with {code}", flush=True)
        code, reason = (0, "Completed") if done else (code % 256, "Error")
        state = {"terminated": {"exitCode": code, "finishedAt": now(), "reason": reason}}
        self.say("Succeeded" if done else "Failed", state)

    def say(self, phase, state):
        """Writes its status."""
        is_ready = phase == "Running"
        container = {
            "name": self.container["name"], "image": self.container.get("image", ""), "imageID": "",
            "ready": is_ready, "restartCount": 0, "state": state,
        }
        status = {"phase": phase, "podIP": self.address, "containerStatuses": [container]}
        self.kubelet.say(self.path, self.uid, status, is_ready)


class Kubelet:
    """All nodes."""

    def __init__(self, arguments):
        self.api = Api(arguments.kubeconfig)
        self.kubeconfig = os.path.abspath(arguments.kubeconfig)
        self.work = os.path.abspath(arguments.work)
        self.images = {name: os.path.abspath(home) for name, home in (one.split("=", 1) for one in arguments.image)}
        self.pods = {}
        self.addresses = 0

    def address(self):
        """One that no other pod has had."""
        self.addresses += 1
        return f"127.0.{1 + self.addresses // 250}.{1 + self.addresses % 250}"

    def say(self, path, uid, status, is_ready):
        """Writes a pod's status, beside what others say of it."""
        pod = self.api.find(path)
        if pod is None or pod["metadata"]["uid"] != uid:
            return
        said = pod.get("status", {})
        ready = {"type": "Ready", "status": str(is_ready), "lastTransitionTime": now()}
        status["conditions"] = [one for one in said.get("conditions", []) if one["type"] != "Ready"] + [ready]
        status["startTime"] = said.get("startTime", now())
        self.api.patch(f"{path}/status", {"metadata": {"uid": uid}, "status": status})

    def tell(self, gone, pod):
        """A pod is so, or gone."""
        uid = pod["metadata"]["uid"]
        known = self.pods.get(uid)
        if gone:
            if known and not known.going:
                # Somebody deleted it without grace.
                beside(known.stop, 0)
            self.pods.pop(uid, None)
            return
        if known is None and pod["spec"].get("nodeName") and pod.get("status", {}).get("phase") == "Pending":
            known = self.pods[uid] = Pod(self, pod)
            beside(known.run)
        if known and pod["metadata"].get("deletionTimestamp") and not known.going:
            known.going = True
            beside(known.stop, pod["metadata"].get("deletionGracePeriodSeconds", 30))

    def stop(self, *_):
        """Ends with all its processes."""
        for pod in list(self.pods.values()):
            if pod.process is not None:
                pod.signal(signal.SIGKILL)
        os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("kubeconfig", "work"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--image", action="append", default=[], help="an image whose pods are run, and where it is")
    kubelet = Kubelet(parser.parse_args())
    signal.signal(signal.SIGTERM, kubelet.stop)
    # Who started it holds its standard input: it ends with that.
    beside(lambda: (os.read(0, 1), kubelet.stop()))
    kubelet.api.follow("/api/v1/pods", kubelet.tell)


if __name__ == "__main__":
    main()
