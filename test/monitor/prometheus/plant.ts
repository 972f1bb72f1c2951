/** Everything that the monitoring server reads, with statistics that tests can record on. */
import type { JvmReading } from '../../../src/jvm/jvm-reading.ts';
import { DurationBuckets } from '../../../src/metrics/duration-buckets.ts';
import { LifetimeTimer } from '../../../src/metrics/lifetime-timer.ts';
import { type ApplicationStatistics, createStatistics } from '../../../src/metrics/statistics.ts';
import type { Timer } from '../../../src/metrics/timer.ts';
import type { Monitored, MonitoredComet, MonitoredJvm, MonitoredSidecar } from '../../../src/monitor/monitored.ts';
import type { MonitoredSecurity } from '../../../src/monitor/monitored-security.ts';
import type { ProcessReading } from '../../../src/monitor/process-reading.ts';
import { type ExpositionFormat, renderTables } from '../../../src/monitor/prometheus/exposition.ts';
import { toTables } from '../../../src/monitor/prometheus/tables.ts';
import { NsClock } from '../../metrics/ns-clock.ts';

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
    ...{ kind: 'available', reading: READING, ageMs: 1_500, source: 'hsperfdata', memory: 'live' },
    ...{ gauges: undefined as never, sinceEpochMs: 0 },
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

export interface Plant {
  readonly monitored: Pick<Monitored, 'applications' | 'sidecar' | 'jvm'>;
  readonly statistics: ApplicationStatistics;
  readonly created: Timer;
  readonly clock: NsClock;
  text(format?: ExpositionFormat): Promise<string>;
}

/** Needs `initMetrics`. */
export function createPlant({
  jvm = AVAILABLE,
  hasAccess = true,
  maxNames = 2_000,
}: {
  jvm?: MonitoredJvm;
  hasAccess?: boolean;
  maxNames?: number;
} = {}): Plant {
  const clock = new NsClock();
  const names = { rpc: maxNames, sba: maxNames, object: 10_000 };
  const statistics = createStatistics(
    { windowMs: 300_000, durationUnit: 'seconds', maxNames: names, maxNamesPerSession: 200 },
    clock,
  );
  const created = statistics.createTimer();
  const sessions = {
    created,
    countsByType: () => ({ REST: 2, COMET_WEBSOCKET: 1, COMET_LONG_POLLING: 0 }),
    entries: () => [],
    find: () => undefined,
    metrics: () => statistics.rpc.metrics(),
  };
  const monitored = {
    applications: [{ name: 'smartWeb', statistics, sessions }],
    sidecar: createSidecar(clock, hasAccess),
    jvm,
  };
  const text = async (format: ExpositionFormat = 'text') =>
    piecesOf(monitored, await monitored.sidecar.readProcess(), format).join('');
  return { monitored, statistics, created, clock, text };
}

/** All of it at once. */
export function piecesOf(monitored: Plant['monitored'], reading: ProcessReading, format: ExpositionFormat): string[] {
  return [...renderTables(toTables(monitored, reading), format)];
}

function createSidecar(clock: NsClock, hasAccess: boolean): MonitoredSidecar {
  const kinds = { rpc: 1, sba: 0, object: 2, session: 0 };
  return {
    version: '1.2.3',
    build: '3f9c2a1b7d04',
    droppedMarks: 3,
    own: {
      read: () => ({
        exchanges: {
          relay: { completed: 90, failed: 2, cancelled: 1, denied: 0 },
          gateway: { completed: 7, failed: 0, cancelled: 0, denied: 0 },
        },
        upgrades: 3,
        aborted: kinds,
        failed: kinds,
        unclassified: 12,
        cometExchanges: 40,
        sessionsUntracked: 0,
        claimsRefused: { cookie: 2, address: 0 },
        comet: createComet(clock),
        added: { request: new DurationBuckets(), response: new DurationBuckets() },
      }),
    },
    limits: { counts: new Map([['limits.fields', 0]]) },
    memory: { used: { bodies: 3, windows: 4 }, refusals: { bodies: 1, windows: 2 } },
    reporter: {
      open: 4,
      inFlight: 3,
      observerErrors: 0,
      failures: { counts: new Map([['D2S_ERR_UPSTREAM_REFUSED', 2]]) },
    },
    dispatcher: {
      openConnections: 9,
      clientAddresses: 2,
      acceptedConnections: 30,
      refusedConnections: 0,
      descriptorShortages: 0,
      handedOver: new Map([['upgrade', 3]]),
    },
    gateway: { upgradedConnections: 2, overflowedConnections: 0, tunnelsLetGo: { closed: 1, cut: 0 } },
    lifecycle: { state: 'draining', leftMs: 2_500 },
    upstream: { reachability: { kind: 'reachable', sinceEpochMs: 0 } },
    access: hasAccess ? { counts: { wrong: 1, limited: 0 } } : undefined,
    security: createSecurity(hasAccess),
    loopDelay: { durations: new DurationBuckets() },
    log: { lostLines: 0 },
    otlp: {
      signals: new Map([
        [
          'traces',
          {
            ...{ exports: { ok: 4, failed: 2 }, failures: new Map([['timeout', 2]]), isUp: false },
            ...{ items: { accepted: 900, rejected: 1, lost: 512, dropped: 7 }, longestSerializationNs: 2 * MS },
          },
        ],
      ]),
      waitingSpans: 12,
    },
    accessLog: { isOn: true, waitingBytes: 250, counts: { written: 90, lost: 3, failures: 1, rotations: 2 } },
    readProcess: () => Promise.resolve(PROCESS),
    state: {
      ...{ restored: 'restored', saves: 7, failures: 1, conflicts: 0 },
      last: { epochMs: 1_772_352_000_500, durationNs: 250 * MS, longestSliceNs: 3 * MS, bytes: 1_234 },
    },
  };
}

function createSecurity(hasAccess: boolean): MonitoredSecurity {
  const files = { replaced: 2, unusable: 1 };
  const own = { ...files, notAfterEpochMs: 1_803_888_000_000 };
  return {
    connections: { size: 4, overflows: 7 },
    access: { numbers: files, counts: hasAccess ? { unverified: 5, forgotten: 6 } : undefined },
    tls: {
      listen: { numbers: { ...own, failed: 9, timedOut: 2, refused: 3, unverified: 1 } },
      monitor: undefined,
      upstream: { numbers: { ...files, notAfterEpochMs: undefined, failed: 4 } },
    },
    reloads: {
      ...{ results: { applied: 3, refused: 1 }, isLastApplied: false, waiting: 2 },
      lastAppliedEpochMs: 1_772_352_000_500,
    },
  };
}

function createComet(clock: NsClock): MonitoredComet {
  const duration = new LifetimeTimer(clock);
  duration.update(30_000 * MS);
  duration.update(500 * MS);
  return {
    messages: { client: 50, upstream: 70 },
    holds: { now: 5, ended: { delivery: 1, empty: 1, broken: 0 }, duration },
    handshakes: { accepted: 6, refused: 1, storms: 0 },
    unknownClients: 1,
    fallbacks: 0,
    connectGaps: 2,
    adopted: 1,
    unread: { 'not-bayeux': 1 },
    untracked: { clients: 0, subscriptions: 0, calls: 0, requests: 0 },
    unanswered: { timedOut: 0, abandoned: 1 },
  };
}

/** A sample by its name and labels as written, e.g. `d2_calls_total{outcome="ok"}` => 4. */
export function samplesOf(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      const number = line.slice(end + 1);
      return [line.slice(0, end), number === '+Inf' ? Number.POSITIVE_INFINITY : Number(number)];
    }),
  );
}
