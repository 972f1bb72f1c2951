/** What each rule of the verdict needs to apply. */
import type { ServerState } from '../../../src/jvm/server-reading.ts';
import type { Evidence, MinuteCounts } from '../../../src/measure/verdict/evidence.ts';

const NONE: MinuteCounts = {
  ...{ ok: 0, clientErrors: 0, errors: 0, unanswered: 0, aborted: 0, refusedHere: 0, late: 0 },
  ...{ durationS: 0, clientWaitS: 0, longWaits: 0, unclassified: 0, misplaced: 0 },
};
export const minute = (counts: Partial<MinuteCounts>): Pick<Evidence, 'minute'> => ({
  minute: { ...NONE, ok: 100, durationS: 1, ...counts },
});
export const server = (state: Partial<ServerState>): Pick<Evidence, 'server'> => ({
  server: { connector: undefined, threads: {}, process: {}, cores: undefined, ...state },
});
const threads = (busyThreads: number, maxThreads: number) =>
  server({ connector: { port: 1, busyThreads, maxThreads } });
const descriptors = (openDescriptors: number, maxDescriptors: number) =>
  server({ process: { openDescriptors, maxDescriptors } });
export const cores = (used: number, processors: number) => server({ cores: used, process: { processors } });
const waits = (clientWaitS: number, durationS: number, longWaits: number) =>
  minute({ clientWaitS, durationS, longWaits });
const unreachable = (reason: string, isTls = false): Pick<Evidence, 'upstream'> => ({
  upstream: { kind: 'unreachable', sinceEpochMs: 0, reason, isTls },
});
export const HUNG = { kind: 'rpc', name: 'P.Report', count: 6, youngest: 12, oldest: 40, p99: 0.25 } as const;

/** One target that 99 % of the calls should meet. */
export const targets = (met: number, missed: number): Pick<Evidence, 'targets'> => ({
  targets: [{ name: 'E.Boiler.*', withinMs: 500, share: 0.99, met, missed, kind: 'rpc' }],
});

/** All is well, but for `parts`. */
export function evidence(...parts: readonly Partial<Evidence>[]): Evidence {
  const calm: Evidence = {
    application: 'smartWeb',
    lifecycleState: 'serving',
    isLeaving: false,
    ownCertificateFault: undefined,
    upstream: { kind: 'reachable', sinceEpochMs: 0 },
    server: undefined,
    deadlock: undefined,
    hung: null,
    ...minute({}),
    worst: undefined,
    slowest: undefined,
    clientTimeoutS: 10,
    targets: [],
    collectorShare: null,
    p95: { now: 0.02, usual: 0.02 },
    unclassifiedPath: undefined,
    misplacedPath: undefined,
  };
  return Object.assign(calm, ...parts);
}

/** What each rule needs to apply, and what is just not enough. */
export const RULES: readonly (readonly [
  code: string,
  subject: string,
  applies: Partial<Evidence>,
  not: Partial<Evidence>,
])[] = [
  ['draining', 'sidecar', { isLeaving: true, lifecycleState: 'draining' }, {}],
  ['own-certificate', 'sidecar', { ownCertificateFault: 'it has expired' }, {}],
  ['upstream-tls', 'server', unreachable('CERT_HAS_EXPIRED', true), {}],
  ['upstream-tls', 'sidecar', unreachable('ERR_SSL_WRONG_VERSION_NUMBER', true), {}],
  ['upstream-tls', 'sidecar', unreachable('ERR_TLS_CERT_ALTNAME_INVALID', true), {}],
  ['upstream-tls', 'sidecar', unreachable('UNABLE_TO_VERIFY_LEAF_SIGNATURE', true), {}],
  ['upstream-unreachable', 'server', unreachable('ECONNREFUSED'), {}],
  ['upstream-unreachable', 'server', unreachable('ECONNRESET'), {}],
  ['upstream-unreachable', 'network', unreachable('ETIMEDOUT'), {}],
  ['upstream-unreachable', 'network', unreachable('D2S_ERR_UPSTREAM_CONNECT_TIMEOUT'), {}],
  ['upstream-unreachable', 'network', unreachable('EHOSTUNREACH'), {}],
  ['upstream-unreachable', 'network', unreachable('ENOTFOUND'), {}],
  ['upstream-unreachable', 'sidecar', unreachable('EMFILE'), {}],
  ['deadlock', 'server', { deadlock: { threads: 2, file: 'threads-1.txt' } }, {}],
  ['no-threads', 'server', threads(10, 10), threads(9, 10)],
  ['descriptors', 'server', descriptors(900, 1_000), descriptors(899, 1_000)],
  ['hung-calls', 'server', { hung: HUNG }, {}],
  ['calls-fail', 'server', minute({ ok: 57, unanswered: 3 }), minute({ ok: 58, unanswered: 3 })],
  ['calls-fail', 'server', minute({ ok: 0, errors: 3 }), minute({ ok: 0, errors: 2 })],
  ['calls-fail', 'server', minute({ unanswered: 10, refusedHere: 5 }), minute({ unanswered: 5, refusedHere: 2 })],
  ['calls-fail', 'sidecar', minute({ unanswered: 11, refusedHere: 6 }), minute({ unanswered: 5, refusedHere: 5 })],
  ['calls-late', 'server', minute({ ok: 60, late: 3 }), minute({ ok: 61, late: 3 })],
  ['target-missed', 'server', targets(98, 2), targets(99, 1)],
  ['target-missed', 'server', targets(0, 3), targets(0, 2)],
  ['processors', 'server', cores(1.8, 2), cores(1.79, 2)],
  ['garbage-collection', 'server', { collectorShare: 0.1 }, { collectorShare: 0.099 }],
  ['calls-slow', 'server', { p95: { now: 0.2, usual: 0.1 } }, { p95: { now: 0.199, usual: 0.1 } }],
  ['calls-slow', 'server', { p95: { now: 0.05, usual: 0.001 } }, { p95: { now: 0.049, usual: 0.001 } }],
  ['clients-slow', 'client', waits(5, 5, 3), waits(5, 5, 2)],
  ['clients-slow', 'client', waits(5, 5, 3), waits(4.9, 5, 3)],
  ['clients-leave', 'client', minute({ ok: 27, aborted: 3 }), minute({ ok: 28, aborted: 3 })],
  ['not-classified', 'sidecar', minute({ ok: 0, misplaced: 20 }), minute({ ok: 1, misplaced: 20 })],
  ['not-classified', 'sidecar', minute({ ok: 0, unclassified: 20 }), minute({ ok: 1, unclassified: 19 })],
  ['quiet', 'unknown', minute({ ok: 0, unclassified: 19, misplaced: 19 }), minute({ ok: 0, clientErrors: 1 })],
  ['fine', 'nobody', {}, {}],
];
