#!/usr/bin/env bash
# Flink on Kubernetes, native: the JobManager and its TaskManagers run as one gang.
#
#     kubectl apply -f pod-group.yaml
#     IMAGE=... ./run.sh [OPTION ... JAR ARGUMENT ...]      # in application mode
#     IMAGE=... ./run.sh session [OPTION ...]               # in session mode
#
# Needs the programs of Flink 2 in the PATH (with 1.x it is `flink run-application`). The Flink operator takes the same settings
# as the fields podTemplate and flinkConfiguration of a FlinkDeployment.
set -euo pipefail

cluster=${CLUSTER:-wordcount}
group=scheduling.k8s.io/group-name:$cluster
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
settings=(
  -Dkubernetes.cluster-id="$cluster"
  -Dkubernetes.pod-template-file.default="$folder/pod-template.yaml"
  -Dkubernetes.jobmanager.annotations="$group"
  -Dkubernetes.taskmanager.annotations="$group"
  -Dkubernetes.container.image.ref="$IMAGE"
  -Dkubernetes.jobmanager.cpu.amount=0.5
  -Dkubernetes.taskmanager.cpu.amount=1
  -Djobmanager.memory.process.size=1g
  -Dtaskmanager.memory.process.size=1g
  -Dtaskmanager.numberOfTaskSlots=1
  -Dparallelism.default=2
)

if [[ ${1:-} == session ]]; then exec kubernetes-session.sh "${settings[@]}" "${@:2}"; fi
[[ $# -gt 0 ]] || set -- local:///opt/flink/examples/streaming/WordCount.jar
exec flink run -t kubernetes-application "${settings[@]}" "$@"
