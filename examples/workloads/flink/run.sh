#!/usr/bin/env bash
# Flink on Kubernetes, native, in application mode: the JobManager and its TaskManagers run as one gang.
#
#     kubectl apply -f pod-group.yaml && IMAGE=... ./run.sh [OPTION ... JAR ARGUMENT ...]
#
# Needs Flink 2 (with 1.x it is `flink run-application`). In session mode the same settings go to kubernetes-session.sh;
# `slotmanager.number-of-slots.min` has TaskManagers made before there is a job. The Flink operator takes them as the fields
# podTemplate and flinkConfiguration of a FlinkDeployment.
set -euo pipefail

cluster=${CLUSTER:-wordcount}
group=scheduling.k8s.io/group-name:$cluster
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[[ $# -gt 0 ]] || set -- local:///opt/flink/examples/streaming/WordCount.jar

exec "${FLINK:-flink}" run -t kubernetes-application \
  -Dkubernetes.cluster-id="$cluster" \
  -Dkubernetes.pod-template-file.default="$folder/pod-template.yaml" \
  -Dkubernetes.jobmanager.annotations="$group" \
  -Dkubernetes.taskmanager.annotations="$group" \
  -Dkubernetes.container.image.ref="$IMAGE" \
  -Dkubernetes.jobmanager.cpu.amount=0.5 \
  -Dkubernetes.taskmanager.cpu.amount=1 \
  -Djobmanager.memory.process.size=1g \
  -Dtaskmanager.memory.process.size=1g \
  -Dtaskmanager.numberOfTaskSlots=1 \
  -Dparallelism.default=2 \
  "$@"
