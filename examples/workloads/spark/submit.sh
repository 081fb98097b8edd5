#!/usr/bin/env bash
# Spark in cluster mode: the driver and its executors run as one gang.
#
#     SPARK_HOME=... SERVER=https://... IMAGE=... ./submit.sh [OPTION ... APPLICATION ARGUMENT ...]
#
# Needs Spark 4.2 or newer, which has the step for Volcano's PodGroups (`-Pvolcano` in builds of one's own), and the kind
# podgroups.scheduling.volcano.sh on the cluster; nothing else of Volcano's (`kubectl apply -f deploy/compat/` where Volcano
# is not installed). Spark makes the PodGroup itself, and deletes it with the driver.
set -euo pipefail

step=org.apache.spark.deploy.k8s.features.VolcanoFeatureStep
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[[ $# -gt 0 ]] || set -- local:///opt/spark/examples/src/main/python/pi.py 100

exec "$SPARK_HOME/bin/spark-submit" --master "k8s://$SERVER" --deploy-mode cluster --name pi \
  --conf spark.kubernetes.scheduler.name=muster \
  --conf spark.kubernetes.driver.pod.featureSteps=$step \
  --conf spark.kubernetes.executor.pod.featureSteps=$step \
  --conf spark.kubernetes.scheduler.volcano.podGroupTemplateFile="$folder/pod-group.yaml" \
  --conf spark.kubernetes.container.image="$IMAGE" \
  --conf spark.kubernetes.driver.request.cores=500m \
  --conf spark.driver.memory=512m \
  --conf spark.executor.instances=2 \
  --conf spark.executor.cores=1 \
  --conf spark.executor.memory=512m \
  "$@"
