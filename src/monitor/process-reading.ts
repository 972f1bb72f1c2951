import { performance } from 'node:perf_hooks';
import v8 from 'node:v8';
import { MS_PER_S } from '../base/clock.ts';
import { countDescriptors, readMaxDescriptors } from '../base/descriptors.ts';
import { counter, gauge, type MetricDescription } from '../base/metric-description.ts';
import { platform } from '../base/platform/platform.ts';

export type ProcessReading = Awaited<ReturnType<typeof readProcess>>;

const US_PER_S = 1e6;
const FD_FOLDER = `${platform.procPath}/self/fd`;

/**
 * What the operating system and Node report about this process. Without /proc, or without a free file descriptor to read
 * it, `residentBytes`, `openFds` and `maxFds` are undefined.
 */
export async function readProcess() {
  const { user, system } = process.cpuUsage();
  const heap = v8.getHeapStatistics();
  return {
    cpuSeconds: (user + system) / US_PER_S,
    residentBytes: readResidentBytes(),
    heapUsedBytes: heap.used_heap_size,
    heapTotalBytes: heap.total_heap_size,
    externalBytes: heap.external_memory,
    openFds: await countDescriptors(FD_FOLDER),
    maxFds: readMaxDescriptors(),
    /** Since 1970. */
    startTimeSeconds: performance.timeOrigin / MS_PER_S,
    /** Time in which the event loop was busy. */
    loopActiveSeconds: performance.eventLoopUtilization().active / MS_PER_S,
  };
}

function readResidentBytes(): number | undefined {
  try {
    return process.memoryUsage.rss();
  } catch {
    return undefined;
  }
}

/** Named as in the Prometheus client libraries, where those have the metric. */
export const PROCESS_METRICS: readonly MetricDescription<ProcessReading>[] = [
  counter(
    'd2_sidecar_loop_active_seconds_total',
    'Busy time of the event loop.',
    ({ loopActiveSeconds }) => loopActiveSeconds,
  ),
  counter('process_cpu_seconds_total', 'Processor time, user and system.', ({ cpuSeconds }) => cpuSeconds),
  gauge('process_start_time_seconds', 'When the process started.', ({ startTimeSeconds }) => startTimeSeconds),
  gauge('process_resident_memory_bytes', 'Resident memory.', ({ residentBytes }) => residentBytes),
  gauge('process_open_fds', 'Open file descriptors.', ({ openFds }) => openFds),
  gauge('process_max_fds', 'Limit of open file descriptors.', ({ maxFds }) => maxFds),
  gauge('nodejs_heap_size_used_bytes', 'JavaScript heap in use.', ({ heapUsedBytes }) => heapUsedBytes),
  gauge('nodejs_heap_size_total_bytes', 'JavaScript heap reserved.', ({ heapTotalBytes }) => heapTotalBytes),
  gauge(
    'nodejs_external_memory_bytes',
    'Memory outside the heap that JavaScript objects hold.',
    ({ externalBytes }) => externalBytes,
  ),
];
