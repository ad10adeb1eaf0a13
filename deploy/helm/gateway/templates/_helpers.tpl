{{- define "gateway.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "gateway.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "gateway.labels" -}}
{{ include "gateway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "gateway.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Every pod of the gateway runs as a user without privileges. */}}
{{- define "gateway.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "gateway.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/*
The ports of the addresses in `env` to which the gateway connects. Of an address in the Secret, the
chart knows nothing: mail that has a sender gets the ports for submission.
*/}}
{{- define "gateway.ports" -}}
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
{{- define "gateway.databaseUrl" -}}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef: { name: {{ .Values.existingSecret }}, key: DATABASE_URL }
{{- end -}}
