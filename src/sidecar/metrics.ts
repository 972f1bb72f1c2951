/** All metrics, in the order of `/metrics`: the descriptions of the rooms, and the source of each list. */

import { ARCHIVE_METRICS } from '../archive/archive-metrics.ts';
import { FILE_METRICS } from '../base/file-watch.ts';
import { LOG_METRICS } from '../base/logger.ts';
import { createTable, type MetricDescription, type Table } from '../base/metric-description.ts';
import { VERSION_METRICS } from '../base/version.ts';
import { ACCESS_LOG_METRICS } from '../export/access-log/access-logging.ts';
import { ALERT_METRICS } from '../export/alerts/alert-metrics.ts';
import { OTLP_METRICS } from '../export/otlp/signal-numbers.ts';
import { JVM_METRICS, JVM_SOURCE_METRICS } from '../jvm/jvm-monitor.ts';
import { SERVER_METRICS } from '../jvm/server-reading.ts';
import { DIAGNOSIS_METRICS } from '../jvm/thread-diagnosis.ts';
import { LIMIT_METRICS } from '../limits/limit-hits.ts';
import { MEMORY_METRICS } from '../limits/memory-budget.ts';
import { COMET_METRICS } from '../measure/comet/comet-metrics.ts';
import { HISTORY_METRICS } from '../measure/history/history.ts';
import { APPLICATION_METRICS } from '../measure/record/application-metrics.ts';
import { OWN_METRICS } from '../measure/record/own-metrics.ts';
import { VERDICT_METRICS } from '../measure/verdict/verdicts.ts';
import { ACCESS_METRICS } from '../monitor/access/access-control.ts';
import { MONITOR_METRICS } from '../monitor/monitor-connections.ts';
import { LOOP_METRICS, PROCESS_METRICS } from '../monitor/process-reading.ts';
import { REPORTER_METRICS } from '../proxy/exchange/exchange-reporter.ts';
import { DISPATCHER_METRICS } from '../proxy/listener/dispatcher.ts';
import { PROXY_HEADER_METRICS } from '../proxy/listener/proxy-headers.ts';
import { UPSTREAM_METRICS } from '../proxy/upstream/upstream.ts';
import { UPSTREAM_TLS_METRICS } from '../proxy/upstream/upstream-tls.ts';
import { WEB_SOCKET_METRICS } from '../proxy/websocket/web-sockets.ts';
import { STATE_METRICS } from '../state/state-keeper.ts';
import { HANDSHAKE_METRICS } from '../tls/listener-tls.ts';
import { CERTIFICATE_METRICS } from '../tls/watched-tls.ts';
import { LIFECYCLE_METRICS } from './lifecycle.ts';
import { RELOAD_METRICS } from './reload.ts';

/** Prefixes: `d2_` for the control system, `d2_sidecar_` for the sidecar, others as in the Prometheus libraries. */
export const METRICS = {
  applications: APPLICATION_METRICS,
  own: OWN_METRICS,
  comet: COMET_METRICS,
  jvm: JVM_METRICS,
  server: SERVER_METRICS,
  upstream: UPSTREAM_METRICS,
  reporter: REPORTER_METRICS,
  dispatcher: DISPATCHER_METRICS,
  proxyHeaders: PROXY_HEADER_METRICS,
  webSockets: WEB_SOCKET_METRICS,
  lifecycle: LIFECYCLE_METRICS,
  limits: LIMIT_METRICS,
  memory: MEMORY_METRICS,
  log: LOG_METRICS,
  history: HISTORY_METRICS,
  archive: ARCHIVE_METRICS,
  verdicts: VERDICT_METRICS,
  monitor: MONITOR_METRICS,
  access: ACCESS_METRICS,
  handshakes: HANDSHAKE_METRICS,
  upstreamTls: UPSTREAM_TLS_METRICS,
  certificates: CERTIFICATE_METRICS,
  files: FILE_METRICS,
  reloads: RELOAD_METRICS,
  state: STATE_METRICS,
  otlp: OTLP_METRICS,
  alerts: ALERT_METRICS,
  accessLog: ACCESS_LOG_METRICS,
  jvmSource: JVM_SOURCE_METRICS,
  diagnosis: DIAGNOSIS_METRICS,
  version: VERSION_METRICS,
  loop: LOOP_METRICS,
  process: PROCESS_METRICS,
} as const;

type SourceOf<List> = List extends readonly MetricDescription<infer Source>[] ? Source : never;

/** The source of each list. Undefined if it is not configured or not known: its metrics are then omitted. */
export type MetricSources = {
  readonly [Name in keyof typeof METRICS]: SourceOf<(typeof METRICS)[Name]> | undefined;
};

export function createTables(sources: MetricSources): readonly Table[] {
  return Object.entries(METRICS).flatMap(([name, descriptions]) => {
    const source = sources[name as keyof MetricSources];
    return (descriptions as readonly MetricDescription<typeof source>[]).map((description) =>
      createTable(description, source),
    );
  });
}
