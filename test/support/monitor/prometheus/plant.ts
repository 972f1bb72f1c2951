/** A sidecar without sockets, and the monitoring server's view of it: tests record on its statistics, and read them. */
import { createLogger } from '../../../../src/base/logger.ts';
import { createJvmGauges } from '../../../../src/jvm/gauges.ts';
import type { JvmReading } from '../../../../src/jvm/jvm-source.ts';
import { createServerState } from '../../../../src/jvm/server-reading.ts';
import type { Timer } from '../../../../src/metrics/timer.ts';
import type { Monitored, MonitoredJvm } from '../../../../src/monitor/monitored.ts';
import type { ProcessReading } from '../../../../src/monitor/process-reading.ts';
import { type ExpositionFormat, renderTables } from '../../../../src/monitor/prometheus/exposition.ts';
import type { SeriesOptions } from '../../../../src/monitor/prometheus/fewer-series.ts';
import { createTables, type MetricSources } from '../../../../src/sidecar/metrics.ts';
import { Sidecar } from '../../../../src/sidecar/sidecar.ts';
import { ManualClock } from '../../clock.ts';
import { testConfig } from '../../wire/test-config.ts';

export const MS = 1e6;

const READING: JvmReading = {
  classes: { loaded: 900, unloaded: 20 },
  heap: { init: 10, used: 20, committed: 30, max: 40 },
  nonHeap: { init: 1, used: 2, committed: 3, max: -1 },
  pools: new Map([
    ['G1 Eden Space', { used: 5, committed: 6, max: -1, init: 4, usedAfterGc: 0 }],
    ["CodeHeap 'non-nmethods'", { used: 7 }],
  ]),
  collectors: new Map([['G1 Young Generation', { count: 3, timeMs: 250 }]]),
  memory: 'live',
};

export const AVAILABLE: MonitoredJvm = {
  ...{ reads: 5, failures: 1, boundsHit: new Map([['processes', 0]]) },
  state: {
    ...{ kind: 'available', reading: READING, source: 'hsperfdata', memory: 'live', sinceEpochMs: 0, ageMs: 1_500 },
    ...{ server: createServerState({}, 0, undefined), gauges: createJvmGauges(READING) },
  },
};

const PROCESS: ProcessReading = {
  cpuSeconds: 1.25,
  residentBytes: 80e6,
  heapUsedBytes: 20e6,
  heapTotalBytes: 30e6,
  externalBytes: 4e6,
  openFds: 25,
  maxFds: 1024,
  startTimeSeconds: 1_772_352_000.5,
  loopActiveSeconds: 0.75,
};

export type Plant = Awaited<ReturnType<typeof createPlant>>;

interface PlantOptions {
  readonly jvm?: MonitoredJvm;
  readonly maxNames?: number;
  readonly prometheus?: SeriesOptions;
  readonly sources?: Partial<MetricSources>;
}

export async function createPlant({
  jvm = AVAILABLE,
  maxNames = 2_000,
  prometheus = { objects: 'all' },
  ...replaced
}: PlantOptions = {}) {
  const clock = new ManualClock();
  const config = testConfig();
  const names = { rpc: maxNames, sba: maxNames, object: 10_000 };
  const sidecar = await Sidecar.create(
    { ...config, metrics: { ...config.metrics, maxNames: names, prometheus } },
    createLogger('silent'),
    clock,
  );
  const [application] = sidecar.recorder.applications.values();
  if (application === undefined) throw new Error('no application');
  const { applications, sidecar: seen, ...rest } = sidecar.monitored;
  const jvmSources = {
    jvm: jvm.state.kind === 'available' ? jvm.state.reading : undefined,
    jvmSource: jvm.reads === undefined ? undefined : (jvm as Required<MonitoredJvm>),
  };
  const monitored: Monitored = {
    ...{ ...rest, jvm },
    applications,
    sidecar: { ...seen, version: '1.2.3', readProcess: () => Promise.resolve(PROCESS) },
    createTables: (process) =>
      createTables({
        ...{ ...sidecar.metricSources(process), ...jvmSources },
        ...{ version: '1.2.3', applications: monitored.applications, ...replaced.sources },
      }),
  };
  return {
    ...{ monitored, sidecar, clock },
    statistics: application.statistics,
    created: application.sessions.created as Timer,
    text: (format: ExpositionFormat = 'text') => piecesOf(monitored, format).join(''),
  };
}

/** All of it at once. */
export function piecesOf(monitored: Pick<Monitored, 'createTables'>, format: ExpositionFormat): string[] {
  return [...renderTables(monitored.createTables(PROCESS), format)];
}
