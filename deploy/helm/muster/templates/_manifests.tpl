{{/*
The manifests of a file of deploy/ (a copy is in files/), in the namespace of the release. Of its Deployment is changed
what `program`, the values of `scheduler` or `controllers`, says. Rights, probes and all else are written there, once.
*/}}
{{- define "muster.manifests" -}}
{{- $text := .root.Files.Get .file | replace "namespace: muster-system" (printf "namespace: %s" .root.Release.Namespace) }}
{{- range $document := splitList "\n---\n" $text }}
{{- $object := fromYaml $document }}
{{- if eq $object.kind "Deployment" }}
{{- include "muster.deployment" (dict "root" $.root "program" $.program "object" $object) }}
{{- end }}
---
{{ toYaml $object }}
{{- end }}
{{- end }}

{{/* Changes a Deployment as the values say. */}}
{{- define "muster.deployment" -}}
{{- $values := .root.Values }}
{{- $program := .program }}
{{- $pod := .object.spec.template.spec }}
{{- $container := first $pod.containers }}
{{- $_ := set .object.spec "replicas" (int $program.replicas) }}
{{- $_ := set $container "image" (printf "%s:%s" $values.image.repository $values.image.tag) }}
{{- $_ := set $container "imagePullPolicy" $values.image.pullPolicy }}
{{- $_ := set $container "args" (concat $container.args $program.extraArgs) }}
{{- with $program.resources }}{{ $_ := set $container "resources" . }}{{ end }}
{{- with $program.nodeSelector }}{{ $_ := set $pod "nodeSelector" . }}{{ end }}
{{- with $program.tolerations }}{{ $_ := set $pod "tolerations" . }}{{ end }}
{{- if $values.imagePullSecrets }}
{{- $secrets := list }}
{{- range $values.imagePullSecrets }}{{ $secrets = append $secrets (dict "name" .) }}{{ end }}
{{- $_ := set $pod "imagePullSecrets" $secrets }}
{{- end }}
{{- $configuration := include "muster.configuration" .root }}
{{- if $configuration }}
{{- $_ := set $container "args" (append $container.args "--config=/etc/muster/config.yaml") }}
{{- $_ := set $container "volumeMounts" (list (dict "name" "config" "mountPath" "/etc/muster" "readOnly" true)) }}
{{- $_ := set $pod "volumes" (list (dict "name" "config" "configMap" (dict "name" "muster-config"))) }}
{{- /* Muster reads it when it starts: another configuration is another pod. */}}
{{- $_ := set .object.spec.template.metadata "annotations" (dict "muster.dev/config" (sha256sum $configuration)) }}
{{- end }}
{{- end }}

{{/* The configuration file; nothing where the defaults hold. Ghosts are where the controllers may make them. */}}
{{- define "muster.configuration" -}}
{{- $fields := deepCopy .Values.config }}
{{- if and (ne .Release.Namespace "muster-system") (not (hasKey $fields "ghostNamespace")) }}
{{- $_ := set $fields "ghostNamespace" .Release.Namespace }}
{{- end }}
{{- if $fields }}
{{- toYaml (merge (dict "apiVersion" "config.muster.dev/v1alpha1" "kind" "SchedulerConfiguration") $fields) }}
{{- end }}
{{- end }}
