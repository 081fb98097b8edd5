"""What an image of Spark runs for a driver and for an executor, as commands of this machine."""
import glob
import os

HERE = "127.0.0.1"
# For a program that runs for seconds, little is compiled and little is kept tidy.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def command(pod, args, env):
    """What the image's entry point makes of a container's arguments and environment: a command, and more environment."""
    own = {"SPARK_HOME": pod.home, "SPARK_LOCAL_IP": pod.address, "JAVA_TOOL_OPTIONS": QUICK}
    return role(pod.address, args, env, pod.home), own


def role(address, args, env, spark_home):
    """The command of a driver or an executor."""
    kind, rest = args[0], args[1:]
    if kind == "driver":
        # A driver's Service has no address here, and drivers may be several on one machine.
        own = {
            "spark.driver.bindAddress": address,
            "spark.driver.host": address,
            "spark.driver.port": "0",
            "spark.driver.blockManager.port": "0",
        }
        conf = [word for key, value in own.items() for word in ("--conf", f"{key}={value}")]
        return [os.path.join(spark_home, "bin", "spark-submit"), *conf, "--deploy-mode", "client", *rest]
    if kind == "executor":
        options = [value for key, value in sorted(env.items()) if key.startswith("SPARK_JAVA_OPT_")]
        memory = env["SPARK_EXECUTOR_MEMORY"]
        return [
            "java", *options, f"-Xms{memory}", f"-Xmx{memory}",
            "-cp", ":".join(glob.glob(os.path.join(spark_home, "jars", "*"))),
            "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
            "--driver-url", env["SPARK_DRIVER_URL"],
            "--executor-id", env["SPARK_EXECUTOR_ID"],
            "--cores", env["SPARK_EXECUTOR_CORES"],
            "--app-id", env["SPARK_APPLICATION_ID"],
            "--hostname", address,
            "--resourceProfileId", env["SPARK_RESOURCE_PROFILE_ID"],
            "--podName", env["SPARK_EXECUTOR_POD_NAME"],
        ]
    raise ValueError(f"a container of Spark with the argument {kind!r}")
