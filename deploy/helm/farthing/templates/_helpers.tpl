{{/* An installation of a chart that had another name keeps its own with nameOverride. */}}
{{- define "farthing.app" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end -}}

{{- define "farthing.name" -}}
{{- $app := include "farthing.app" . -}}
{{- if contains $app .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name $app | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "farthing.selector" -}}
app.kubernetes.io/name: {{ include "farthing.app" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "farthing.labels" -}}
{{ include "farthing.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "farthing.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Every pod of the gateway runs as a user without privileges. */}}
{{- define "farthing.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "farthing.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/*
The ports of the addresses in `env` to which the gateway connects. Of an address in the Secret, the
chart knows nothing: mail that has a sender gets the ports for submission.
*/}}
{{- define "farthing.ports" -}}
{{- $ports := list -}}
{{- range $name, $value := omit .Values.env "PUBLIC_URL" "TOP_UP_URL" "ADMIN_URL" -}}
{{- range regexFindAll "[a-z]+://[^/\\s\",]+" (toString $value) -1 -}}
{{- with regexFind ":[0-9]+$" . -}}
{{- $ports = append $ports (trimPrefix ":" .) -}}
{{- else -}}
{{- if hasPrefix "http://" . -}}
{{- $ports = append $ports "80" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.env.MAIL_FROM (not (regexMatch ":[0-9]+/?$" (toString .Values.env.SMTP_URL))) -}}
{{- $ports = concat $ports (list "465" "587") -}}
{{- end -}}
{{ $ports | uniq | sortAlpha | join " " }}
{{- end -}}

{{/*
Named although envFrom contains it too: if the Secret lacks it, the container must not start. The
gateway would otherwise make an embedded ledger, which is lost with the pod.
*/}}
{{- define "farthing.databaseUrl" -}}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef: { name: {{ .Values.existingSecret }}, key: DATABASE_URL }
{{- end -}}
