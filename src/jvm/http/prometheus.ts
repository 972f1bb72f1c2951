/**
 * Converts the metrics of a JVM exporter to a reading. It knows the names of simpleclient (jmx_exporter 0.x),
 * client_java 1.x (jmx_exporter 1.x), Micrometer (Spring's Actuator), and of jmx_exporter's default rules for MXBeans.
 */
import { NS_PER_S } from '../../base/clock.ts';
import type { JvmReading } from '../jvm-source.ts';
import type { HttpKind } from './http-source.ts';
import { parsePrometheusText, type Sample, type Samples } from './prometheus-text.ts';
import { addUp, type RawUsage, ReadingBuilder } from './reading-builder.ts';

const WANTED =
  /^(?:jvm_(?:classes|memory|gc)_|java_lang_(?:ClassLoading|Memory|MemoryPool|GarbageCollector)_|jmx_exporter_build_info$)/i;
const BEANS = /^java_lang_(?:classloading|memory|memorypool|garbagecollector)_/;

export const PROMETHEUS: HttpKind = {
  name: 'prometheus',
  defaultPath: '/metrics',
  path: '',
  accept: 'text/plain;version=0.0.4',
  advice: {
    forbidden: 'The user (jvm.http.username) needs the right to read the metrics page.',
    notFound:
      'Is the metrics page at another path? jvm.http.url must name it, e.g. http://127.0.0.1:8080/actuator/prometheus.',
  },
  parse: parsePrometheusJvm,
};

/** Throws `D2S_ERR_JVM_FORMAT`. */
export function parsePrometheusJvm(text: string): JvmReading {
  const isWanted = (name: string) => WANTED.test(name) || CAPACITY_NAMES.has(name.toLowerCase());
  // Exporters can be configured to other letter cases.
  const samples: Samples = new Map(
    [...parsePrometheusText(text, isWanted)].map(([name, list]) => [name.toLowerCase(), list]),
  );
  const builder = new ReadingBuilder();
  // E.g. `jmx_exporter_build_info{name="jmx_prometheus_javaagent"}`.
  const exporter = samples.get('jmx_exporter_build_info')?.[0]?.labels.get('name') ?? '';
  const isStandalone = /httpserver|standalone/.test(exporter);
  // An agent has its own metrics, unless `excludeJvmMetrics` hides them.
  const isAgent =
    exporter.includes('javaagent') && (samples.has('jvm_memory_bytes_used') || samples.has('jvm_memory_used_bytes'));
  const hasBeans = [...samples.keys()].some((name) => BEANS.test(name));
  // The jvm_* of a standalone exporter describe the exporter, not the JVM that it watches. Those of an agent describe
  // its JVM.
  const isOwn = !isStandalone && (!hasBeans || isAgent);
  if (!isOwn) readBeans(builder, samples);
  else if (samples.get('jvm_memory_used_bytes')?.some(({ labels }) => labels.has('id')))
    readMicrometer(builder, samples);
  else readClientJava(builder, samples);
  readCapacity(builder, samples, isOwn);
  return builder.build(
    isStandalone
      ? 'The metrics of the standalone jmx_exporter have no java_lang_* lines of Memory, MemoryPool, ClassLoading and GarbageCollector; let its rules and includeObjectNames pass them.'
      : 'The metrics hold neither jvm_memory_*, jvm_classes_* and jvm_gc_* nor java_lang_*. Is the metrics page that of the JVM, and does excludeJvmMetrics hide them?',
  );
}

/** 0.x writes `jvm_memory_bytes_used`, 1.x `jvm_memory_used_bytes`; the rest is the same. */
function readClientJava(builder: ReadingBuilder, samples: Samples): void {
  const isOld = samples.has('jvm_memory_bytes_used');
  const nameOf = (prefix: string, key: string) => (isOld ? `${prefix}_bytes_${key}` : `${prefix}_${key}_bytes`);
  const usage = (prefix: string, label: string, value: string) =>
    usageFrom((key) => sampleOf(samples, nameOf(prefix, key), label, value));
  const totalOf = (what: string) => sampleOf(samples, `jvm_classes_${what}_total`);
  builder.classes = { loaded: totalOf('loaded'), unloaded: totalOf('unloaded') };
  builder.heap = usage('jvm_memory', 'area', 'heap');
  builder.nonHeap = usage('jvm_memory', 'area', 'nonheap');
  for (const pool of labelsOf(samples, nameOf('jvm_memory_pool', 'used'), 'pool')) {
    const usedAfterGc = sampleOf(samples, 'jvm_memory_pool_collection_used_bytes', 'pool', pool);
    builder.addPool(pool, usage('jvm_memory_pool', 'pool', pool), usedAfterGc);
  }
  for (const gc of labelsOf(samples, 'jvm_gc_collection_seconds_count', 'gc')) {
    const seconds = sampleOf(samples, 'jvm_gc_collection_seconds_sum', 'gc', gc);
    builder.addCollector(gc, sampleOf(samples, 'jvm_gc_collection_seconds_count', 'gc', gc), roundToMs(seconds));
  }
}

/**
 * Micrometer has only pools, and counts pauses since it was bound: an approximation of the MXBeans' counts. Pauses
 * without the label `gc` (before 1.11) mix all collectors, so they are left out.
 */
function readMicrometer(builder: ReadingBuilder, samples: Samples): void {
  const unloaded = sampleOf(samples, 'jvm_classes_unloaded_classes_total');
  // Up to 1.15 only the current number exists. The total is that plus the unloaded classes, by the MXBean's definition.
  const current =
    sampleOf(samples, 'jvm_classes_loaded_count_classes') ?? sampleOf(samples, 'jvm_classes_loaded_classes');
  const derived = current === undefined || unloaded === undefined ? undefined : current + unloaded;
  builder.classes = { loaded: sampleOf(samples, 'jvm_classes_loaded_classes_total') ?? derived, unloaded };
  for (const area of ['heap', 'nonHeap'] as const) {
    const used = samples.get('jvm_memory_used_bytes') ?? [];
    const ids = used.flatMap(({ labels }) => (labels.get('area') === area.toLowerCase() ? [labels.get('id')] : []));
    const pools = ids.map((id) => ({
      name: id,
      ...usageFrom((key) => sampleOf(samples, `jvm_memory_${key}_bytes`, 'id', id)),
    }));
    for (const pool of pools) builder.addPool(pool.name, pool);
    builder[area] = { ...addUp(pools, area), init: undefined };
  }
  for (const gc of labelsOf(samples, 'jvm_gc_pause_seconds_count', 'gc'))
    builder.addCollector(
      gc,
      sumOf(samples, 'jvm_gc_pause_seconds_count', gc),
      roundToMs(sumOf(samples, 'jvm_gc_pause_seconds_sum', gc)),
    );
}

/** E.g. `java_lang_memorypool_usage_used{name="G1 Old Gen"}`. */
function readBeans(builder: ReadingBuilder, samples: Samples): void {
  const usage = (prefix: string, label?: string, value?: string) =>
    usageFrom((key) => sampleOf(samples, `java_lang_${prefix}_${key}`, label, value));
  const countOf = (what: string) => sampleOf(samples, `java_lang_classloading_${what}classcount`);
  builder.classes = { loaded: countOf('totalloaded'), unloaded: countOf('unloaded') };
  builder.heap = usage('memory_heapmemoryusage');
  builder.nonHeap = usage('memory_nonheapmemoryusage');
  for (const pool of labelsOf(samples, 'java_lang_memorypool_usage_used', 'name')) {
    const usedAfterGc = sampleOf(samples, 'java_lang_memorypool_collectionusage_used', 'name', pool);
    builder.addPool(pool, usage('memorypool_usage', 'name', pool), usedAfterGc);
  }
  // Milliseconds, as in the MXBean.
  for (const gc of labelsOf(samples, 'java_lang_garbagecollector_collectioncount', 'name'))
    builder.addCollector(
      gc,
      sampleOf(samples, 'java_lang_garbagecollector_collectioncount', 'name', gc),
      sampleOf(samples, 'java_lang_garbagecollector_collectiontime', 'name', gc),
    );
}

function usageFrom(read: (key: keyof RawUsage) => number | undefined): RawUsage {
  return { init: read('init'), used: read('used'), committed: read('committed'), max: read('max') };
}

/** The value of the sample with that label; without a label, of the only sample. */
function sampleOf(samples: Samples, name: string, label?: string, value?: string): number | undefined {
  const list = samples.get(name) ?? [];
  if (label === undefined) return list.length === 1 ? list[0]?.value : undefined;
  return list.find(({ labels }) => labels.get(label) === value)?.value;
}

function sumOf(samples: Samples, name: string, gc: string): number | undefined {
  const values = (samples.get(name) ?? []).filter(({ labels }) => labels.get('gc') === gc).map(({ value }) => value);
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}

function labelsOf(samples: Samples, name: string, label: string): readonly string[] {
  const values = (samples.get(name) ?? []).map(({ labels }) => labels.get(label));
  return [...new Set(values.filter((value) => value !== undefined))];
}

/** Rounded: as doubles, 1.001 s are 1000.9999999999999 ms. */
function roundToMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 1000);
}

/**
 * Names of the server's capacity in lower case, by value; the first one present counts: of simpleclient, client_java,
 * Micrometer (also its binder for Tomcat), and jmx_exporter's example rules for Tomcat.
 */
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

const CAPACITY_NAMES: ReadonlySet<string> = new Set(
  [THREADS, PROCESS, CONNECTOR].flatMap((values) => Object.values(values).flat()),
);

/** `isOwn`: the exporter runs in the server, so that threads and process are the server's. Names are in lower case. */
function readCapacity(builder: ReadingBuilder, samples: Samples, isOwn: boolean): void {
  const ofConnectors = [...CONNECTOR.busyThreads, ...CONNECTOR.maxThreads].flatMap((name) => samples.get(name) ?? []);
  for (const connector of new Set(ofConnectors.map(nameOf))) {
    const firstOf = (names: readonly string[]) =>
      names.flatMap((name) => samples.get(name) ?? []).find((sample) => nameOf(sample) === connector)?.value;
    const { busyThreads, maxThreads, connections } = CONNECTOR;
    builder.addConnector(connector, firstOf(busyThreads), firstOf(maxThreads), firstOf(connections));
  }
  if (!isOwn) return;
  const only = (names: readonly string[]) =>
    names.map((name) => samples.get(name)?.[0]?.value).find((value) => value !== undefined && value >= 0);
  builder.threads = { live: only(THREADS.live), daemon: only(THREADS.daemon), peak: only(THREADS.peak) };
  const cpuNs = only(PROCESS.cpuNs);
  builder.setProcess(String(only(PROCESS.start) ?? ''), {
    cpuSeconds: only(PROCESS.cpuSeconds) ?? (cpuNs === undefined ? undefined : cpuNs / NS_PER_S),
    residentBytes: only(PROCESS.residentBytes),
    openDescriptors: only(PROCESS.openDescriptors),
    maxDescriptors: only(PROCESS.maxDescriptors),
  });
}

/** Micrometer has Tomcat's name of the connector; jmx_exporter's rules have protocol and port. */
function nameOf({ labels }: Sample): string {
  return labels.get('name') ?? `${labels.get('protocol') ?? ''}-${labels.get('port') ?? ''}`;
}
