{{- define "d2-sidecar.fullname" -}}
{{- if contains "d2-sidecar" .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-d2-sidecar" (.Release.Name | trunc 39 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{- define "d2-sidecar.labels" -}}
app.kubernetes.io/name: d2-sidecar
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The labels of Pods that contain the sidecar. In mode sidecar, the parent chart sets them. */}}
{{- define "d2-sidecar.podLabels" -}}
d2-sidecar: {{ ternary "beside" "gateway" (eq .Values.mode "sidecar") }}
d2-sidecar-release: {{ .Release.Name }}
{{- end -}}

{{- define "d2-sidecar.image" -}}
{{- $what := "image.repository: missing, expected the repository that you pushed the image to, such as registry.plant.example/d2-sidecar." -}}
{{- $how := printf "There is no public image. In the checkout: docker build --tag REPOSITORY:%s . && docker push REPOSITORY:%s" .Chart.AppVersion .Chart.AppVersion -}}
{{- $repository := required (printf "%s %s (docs/kubernetes.md)" $what $how) .Values.image.repository -}}
{{- printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}

{{/* The container as a list item: of initContainers in mode sidecar, of containers in mode gateway. */}}
{{- define "d2-sidecar.container" -}}
- name: d2-sidecar
  image: {{ include "d2-sidecar.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  {{- if eq .Values.mode "sidecar" }}
  restartPolicy: Always
  {{- end }}
  args: [--config, /etc/d2-sidecar/sidecar.yaml]
  {{- if or .Values.monitoring.enabled .Values.extraEnv }}
  env:
    {{- if .Values.monitoring.enabled }}
    - { name: D2_SIDECAR_MONITOR_HOST, value: 0.0.0.0 }
    - { name: D2_SIDECAR_MONITOR_AUTH_TOKENS_FILE, value: /etc/d2-sidecar-access/tokens }
    {{- end }}
    {{- with .Values.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
  {{- with .Values.extraEnvFrom }}
  envFrom:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  ports:
    - { name: d2-sidecar, containerPort: 8081 }
    {{- if .Values.monitoring.enabled }}
    - { name: d2-monitor, containerPort: 9280 }
    {{- end }}
  startupProbe:
    {{- if .Values.monitoring.enabled }}
    httpGet: { path: /startupz, port: 9280 }
    {{- else }}
    exec: { command: [d2-sidecar, health] }
    {{- end }}
    periodSeconds: 2
    timeoutSeconds: 6
    failureThreshold: 30
  livenessProbe:
    {{- if .Values.monitoring.enabled }}
    httpGet: { path: /livez, port: 9280 }
    periodSeconds: 10
    {{- else }}
    exec: { command: [d2-sidecar, health] }
    periodSeconds: 30
    {{- end }}
    timeoutSeconds: 6
    failureThreshold: 3
  readinessProbe:
    {{- if .Values.monitoring.enabled }}
    httpGet: { path: /readyz, port: 9280 }
    periodSeconds: 5
    {{- else }}
    exec: { command: [d2-sidecar, health, --ready] }
    periodSeconds: 10
    {{- end }}
    timeoutSeconds: 6
    failureThreshold: 2
  lifecycle:
    preStop:
      exec: { command: [d2-sidecar, drain, --wait, {{ .Values.drain | quote }}] }
  resources:
    {{- toYaml .Values.resources | nindent 4 }}
  securityContext:
    runAsNonRoot: true
    readOnlyRootFilesystem: true
    allowPrivilegeEscalation: false
    capabilities: { drop: [ALL] }
    seccompProfile: { type: RuntimeDefault }
  volumeMounts:
    - { name: d2-sidecar-config, mountPath: /etc/d2-sidecar, readOnly: true }
    - { name: d2-sidecar-tmp, mountPath: /tmp }
    {{- if .Values.monitoring.enabled }}
    - { name: d2-sidecar-access, mountPath: /etc/d2-sidecar-access, readOnly: true }
    {{- end }}
    {{- with .Values.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* Items of the list volumes. If the application also mounts d2-sidecar-tmp on its /tmp, the sidecar can read the JVM's counters. */}}
{{- define "d2-sidecar.volumes" -}}
- name: d2-sidecar-config
  configMap: { name: {{ include "d2-sidecar.fullname" . }} }
- name: d2-sidecar-tmp
  emptyDir: { medium: Memory, sizeLimit: 64Mi }
{{- if .Values.monitoring.enabled }}
- name: d2-sidecar-access
  secret:
    secretName: {{ .Values.monitoring.secretName }}
    defaultMode: 288 # 0440
    items:
      - { key: tokens, path: tokens }
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
