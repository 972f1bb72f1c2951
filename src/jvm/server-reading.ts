/**
 * The application server's capacity and how much is in use: threads, connections, processor, memory, descriptors. Part
 * of a reading of the JVM, since it comes from the same sources.
 */
import { counter, gauge, type MetricDescription } from '../base/metric-description.ts';

/** Values that the source lacks are undefined, never zero. */
export interface ServerReading {
  /** All connectors that the source names. */
  readonly connectors?: readonly Connector[] | undefined;
  readonly threads?: JvmThreads | undefined;
  readonly process?: ServerProcess | undefined;
}

export interface Connector {
  /** Undefined for a random port or a Unix socket. */
  readonly port: number | undefined;
  readonly busyThreads?: number | undefined;
  readonly maxThreads?: number | undefined;
  readonly connections?: number | undefined;
}

export interface JvmThreads {
  readonly live?: number | undefined;
  readonly daemon?: number | undefined;
  readonly peak?: number | undefined;
}

export interface ServerProcess {
  /** Unique to this process. */
  readonly id: string;
  /** Processor time since its start. */
  readonly cpuSeconds?: number | undefined;
  readonly residentBytes?: number | undefined;
  readonly openDescriptors?: number | undefined;
  readonly maxDescriptors?: number | undefined;
  /** How many it may use. */
  readonly processors?: number | undefined;
}

/** A reading of the server at a moment, with the processor use since the reading before. */
export type ServerState = ReturnType<typeof createServerState>;

/** `upstreamPort`: the port that the sidecar dials. `before`: the reading `seconds` ago. */
export function createServerState(
  { connectors = [], threads = {}, process }: ServerReading,
  upstreamPort: number,
  before: { readonly process?: ServerProcess | undefined; readonly seconds: number } | undefined,
) {
  const [only, ...others] = connectors;
  // A single connector serves the sidecar, even if its port is mapped.
  const connector = connectors.find(({ port }) => port === upstreamPort) ?? (others.length === 0 ? only : undefined);
  return {
    connector,
    threads,
    process: (process ?? {}) as Partial<ServerProcess>,
    /** Cores in use since the reading before; undefined for the first reading. */
    cores: before && computeCores(process, before.process, before.seconds),
  };
}

function computeCores(now: ServerProcess | undefined, then: ServerProcess | undefined, seconds: number) {
  if (now?.cpuSeconds === undefined || then?.cpuSeconds === undefined) return undefined;
  return now.id === then.id && seconds > 0 ? Math.max(0, now.cpuSeconds - then.cpuSeconds) / seconds : undefined;
}

export const SERVER_METRICS: readonly MetricDescription<ServerState>[] = [
  gauge('d2_server_threads_busy', 'Busy request threads of the connector.', ({ connector }) => connector?.busyThreads),
  gauge(
    'd2_server_threads_max',
    'Maximum number of request threads of the connector.',
    ({ connector }) => connector?.maxThreads,
  ),
  gauge('d2_server_connections', 'Open connections of the connector.', ({ connector }) => connector?.connections),
  gauge(
    'd2_server_jvm_threads',
    'Threads of the JVM: live, daemons among them, peak.',
    ({ threads }) => ({ ...threads }),
    'state',
  ),
  counter('d2_server_cpu_seconds_total', 'Processor time of the server.', ({ process }) => process.cpuSeconds),
  gauge('d2_server_processors', 'Processors that the server may use.', ({ process }) => process.processors),
  gauge('d2_server_resident_memory_bytes', 'Resident memory of the server.', ({ process }) => process.residentBytes),
  gauge('d2_server_open_fds', 'Open file descriptors of the server.', ({ process }) => process.openDescriptors),
  gauge('d2_server_max_fds', 'File descriptors that the server may open.', ({ process }) => process.maxDescriptors),
];
