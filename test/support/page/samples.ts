/** Sample answers of the port, for tests of the page. */
import type { HistoryPoint, Live, LiveApplication, StepCalls, Verdict } from '../../../src/page/live-data.ts';

export const NOW_MS = Date.parse('2026-03-01T12:00:00.000Z');
const STEP_S = 5;
const NONE = { sinceStart: 0, inMinute: 0 };

export function live(differences: Partial<Live> = {}): Live {
  return {
    version: '1.2.3',
    now: new Date(NOW_MS).toISOString(),
    startTime: new Date(NOW_MS - 3_600_000).toISOString(),
    role: 'sessions',
    state: 'serving',
    stopLeftSeconds: null,
    upstream: { state: 'reachable', since: new Date(NOW_MS - 3_600_000).toISOString(), reason: null, tlsFault: null },
    certificates: [],
    jvm: { state: 'none', source: null, since: null, reason: null, heapMax: null },
    server: {},
    clientTimeoutSeconds: 10,
    limits: [],
    failures: [],
    refusedConnections: NONE,
    observerErrors: NONE,
    outside: { ...NONE, segments: [], other: 0 },
    archive: null,
    alerts: null,
    seq: 0,
    applications: [application()],
    marks: [],
    ...differences,
  };
}

export const FINE: Verdict = {
  ...{ subject: 'nobody', code: 'fine', kind: null, name: null, since: new Date(NOW_MS - 60_000).toISOString() },
  text: 'No sign of trouble with the server, the network or a client: 120 calls in the last minute, none failed, p95 of RPCs 20.0 ms.',
};

const NO_CALLS: LiveApplication['minute'] = {
  ...{ ok: 0, clientErrors: 0, errors: 0, unanswered: 0, aborted: 0, refusedHere: 0, late: 0 },
  ...{ durationS: 0, clientWaitS: 0, longWaits: 0, unclassified: 0, misplaced: 0 },
};

export function application(
  points: readonly HistoryPoint[] = [],
  differences: Partial<LiveApplication> = {},
): LiveApplication {
  return {
    name: 'smartWeb',
    sessions: { REST: 2, COMET_WEBSOCKET: 0, COMET_LONG_POLLING: 0, created: 2 },
    heldPolls: 0,
    verdict: FINE,
    minute: NO_CALLS,
    targets: [],
    history: { stepSeconds: STEP_S, points },
    ...differences,
  };
}

const NO_CALLS_IN_STEP: StepCalls = { count: 0, errors: 0, p50: null, p95: null, p99: null };

export function point(seq: number, differences: Partial<HistoryPoint> = {}): HistoryPoint {
  return {
    seq,
    t: NOW_MS / 1_000 + seq * STEP_S,
    seconds: STEP_S,
    rpc: NO_CALLS_IN_STEP,
    sba: NO_CALLS_IN_STEP,
    values: 0,
    aborted: 0,
    unanswered: 0,
    sessions: 2,
    heapUsed: null,
    heapAfterGc: null,
    gcPauseMs: null,
    busyThreads: null,
    cores: null,
    times: { ended: 0, durationS: 0, clientWaitS: 0 },
    ...differences,
  };
}

export function points(count: number, differences: (at: number) => Partial<HistoryPoint>): readonly HistoryPoint[] {
  return Array.from({ length: count }, (_, at) => point(at, differences(at)));
}
