"""What an image of Flink runs for a JobManager and for a TaskManager of native Kubernetes, as commands of this machine.

The programs are Flink's. Three things are other than in containers, for all pods share one machine: each process binds the
address of its pod and nothing else; names of Services are in a file of hosts; and where the JobManager finds the template
of TaskManagers, which is a fixed path in one class of Flink, is taken relative to the folder of its pod.
"""
import glob
import os
import shlex
import socket
import struct
import zipfile

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
OPENED = ("lang", "net", "io", "nio", "util", "util.concurrent", "lang.reflect", "text", "time")
ENTRY = "org.apache.flink.kubernetes."
JOB_MANAGERS = {
    "kubernetes-application": "entrypoint.KubernetesApplicationClusterEntrypoint",
    "kubernetes-session": "entrypoint.KubernetesSessionClusterEntrypoint",
}
# The class with the path, the path, and the name of the volume that is mounted there.
TEMPLATES = ("org/apache/flink/kubernetes/utils/KubernetesUtils.class", "/opt/flink/pod-template", "pod-template-volume")


def java():
    """Java as Flink's programs run it."""
    opens = [f"--add-opens=java.base/java.{one}=ALL-UNNAMED" for one in OPENED]
    return ["java", *QUICK.split(), *opens, "--add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED"]


def relocated(home, folder):
    """A folder with the class whose path is another."""
    name, fixed, relative = TEMPLATES
    with zipfile.ZipFile(glob.glob(os.path.join(home, "lib", "flink-dist-*.jar"))[0]) as jar:
        code = jar.read(name)
    constant = [struct.pack(">BH", 1, len(text)) + text.encode() for text in (fixed, relative)]
    if code.count(constant[0]) != 1:
        raise ValueError(f"{name} has not one constant {fixed}")
    file = os.path.join(folder, "classes", name)
    os.makedirs(os.path.dirname(file))
    with open(file, "wb") as written:
        written.write(code.replace(*constant))
    return os.path.join(folder, "classes")


def hosts(pod, app):
    """A file of hosts in which the Services of its application are."""
    managers = [one for one in list(pod.kubelet.pods.values()) if one.labels.get("app") == app]
    at = [one.address for one in managers if one.labels.get("component") == "jobmanager" and not one.going]
    lines = ["127.0.0.1 localhost", f"127.0.0.1 {socket.gethostname()}"]
    lines += [f"{one} {app}.{pod.namespace}" for one in at[-1:]]
    lines += [f"{pod.address} {pod.name}"]
    file = os.path.join(pod.folder, "hosts")
    with open(file, "w", encoding="utf-8") as written:
        written.write("\n".join(lines) + "\n")
    return file


def command(pod, args, env):
    """What the image's entry point makes of a container's arguments and environment: a command, and more environment."""
    if args[:2] != ["bash", "-c"]:
        raise ValueError(f"a container of Flink with the arguments {args}")
    script, *rest = shlex.split(args[2])
    conf = os.path.join(pod.folder, "flink-config-volume")
    start = java() + [
        f"-Djdk.net.hosts.file={hosts(pod, pod.labels['app'])}",
        f"-Dlog4j.configurationFile={os.path.join(conf, 'log4j-console.properties')}",
    ]
    path = ":".join([relocated(pod.home, pod.folder), *sorted(glob.glob(os.path.join(pod.home, "lib", "*.jar")))])
    if script.endswith("kubernetes-jobmanager.sh"):
        kind, *rest = rest
        own = {"jobmanager.bind-host": pod.address, "rest.bind-address": pod.address}
        own["kubernetes.config.file"] = pod.kubelet.kubeconfig
        start += ["-Xmx256m", "-cp", path, ENTRY + JOB_MANAGERS[kind]]
    elif script.endswith("kubernetes-taskmanager.sh"):
        own = {"taskmanager.bind-host": pod.address, "taskmanager.host": pod.address}
        memory = env.get("FLINK_TM_JVM_MEM_OPTS", "").split()
        start += [*memory, "-cp", path, ENTRY + "taskmanager.KubernetesTaskExecutorRunner", "--configDir", conf]
    else:
        raise ValueError(f"a container of Flink that runs {script}")
    # A JobManager has it from its environment, and heeds nothing that comes after an option that it does not know.
    start += [*rest, *(f"-D{key}={value}" for key, value in own.items())]
    return start, {
        "FLINK_HOME": pod.home, "FLINK_CONF_DIR": conf, "FLINK_LIB_DIR": os.path.join(pod.home, "lib"),
        "FLINK_PLUGINS_DIR": os.path.join(pod.home, "plugins"), "HOSTNAME": pod.name,
    }
