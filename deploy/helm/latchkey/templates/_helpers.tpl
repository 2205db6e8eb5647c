{{- define "latchkey.labels" -}}
app.kubernetes.io/name: latchkey
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "latchkey.scheme" -}}
{{ if .Values.tls.secret }}wss{{ else }}ws{{ end }}
{{- end -}}

{{/* The value of LATCHKEY_MEMBER: the members that found the cluster, and this member. Kubernetes fills in the namespace and the id. */}}
{{- define "latchkey.members" -}}
{{- $name := .Release.Name -}}
{{- $scheme := include "latchkey.scheme" . -}}
{{- $port := int .Values.port -}}
{{- range $i := until (int .Values.founders) -}}
{{ $name }}-{{ $i }}={{ $scheme }}://{{ $name }}-{{ $i }}.{{ $name }}.$(POD_NAMESPACE).svc:{{ $port }},
{{- end -}}
$(LATCHKEY_ID)={{ $scheme }}://$(LATCHKEY_ID).{{ $name }}.$(POD_NAMESPACE).svc:{{ $port }}
{{- end -}}
