/**
 * Reads the server's capacity from exporters: simpleclient and client_java, Micrometer (also its binder for Tomcat),
 * and jmx_exporter's example rules for Tomcat.
 */
import type { Sample, Samples } from './prometheus-text.ts';
import type { ReadingBuilder } from './reading-builder.ts';

/** Names in lower case, by value; the first one present counts. */
const THREADS = {
  live: ['jvm_threads_current', 'jvm_threads_live_threads'],
  daemon: ['jvm_threads_daemon', 'jvm_threads_daemon_threads'],
  peak: ['jvm_threads_peak', 'jvm_threads_peak_threads'],
} as const;
const PROCESS = {
  start: ['process_start_time_seconds'],
  cpuSeconds: ['process_cpu_seconds_total'],
  cpuNs: ['process_cpu_time_ns_total'],
  residentBytes: ['process_resident_memory_bytes'],
  openDescriptors: ['process_open_fds', 'process_files_open_files'],
  maxDescriptors: ['process_max_fds', 'process_files_max_files'],
} as const;
const CONNECTOR = {
  busyThreads: ['tomcat_threads_busy_threads', 'tomcat_threadpool_currentthreadsbusy'],
  maxThreads: ['tomcat_threads_config_max_threads', 'tomcat_threadpool_maxthreads'],
  connections: ['tomcat_connections_current_connections', 'tomcat_threadpool_connectioncount'],
} as const;

export const CAPACITY_NAMES: ReadonlySet<string> = new Set(
  [THREADS, PROCESS, CONNECTOR].flatMap((values) => Object.values(values).flat()),
);

const NS_PER_S = 1e9;

/** `isOwn`: the exporter runs in the server, so that threads and process are the server's. Names are in lower case. */
export function readCapacity(builder: ReadingBuilder, samples: Samples, isOwn: boolean): void {
  for (const connector of connectorsOf(samples)) {
    const firstOf = (names: readonly string[]) =>
      names.flatMap((name) => samples.get(name) ?? []).find((sample) => nameOf(sample) === connector)?.value;
    const { busyThreads, maxThreads, connections } = CONNECTOR;
    builder.addConnector(connector, firstOf(busyThreads), firstOf(maxThreads), firstOf(connections));
  }
  if (!isOwn) return;
  const only = (names: readonly string[]) =>
    names.map((name) => samples.get(name)?.[0]?.value).find((value) => value !== undefined && value >= 0);
  builder.setThreads(only(THREADS.live), only(THREADS.daemon), only(THREADS.peak));
  const cpuNs = only(PROCESS.cpuNs);
  builder.setProcess(String(only(PROCESS.start) ?? ''), {
    cpuSeconds: only(PROCESS.cpuSeconds) ?? (cpuNs === undefined ? undefined : cpuNs / NS_PER_S),
    residentBytes: only(PROCESS.residentBytes),
    openDescriptors: only(PROCESS.openDescriptors),
    maxDescriptors: only(PROCESS.maxDescriptors),
  });
}

function connectorsOf(samples: Samples): ReadonlySet<string> {
  const all = [...CONNECTOR.busyThreads, ...CONNECTOR.maxThreads].flatMap((name) => samples.get(name) ?? []);
  return new Set(all.map(nameOf));
}

/** Micrometer has Tomcat's name of the connector; jmx_exporter's rules have protocol and port. */
function nameOf({ labels }: Sample): string {
  return labels.get('name') ?? `${labels.get('protocol') ?? ''}-${labels.get('port') ?? ''}`;
}
