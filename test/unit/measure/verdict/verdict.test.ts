import { expect, it } from 'vitest';
import type { ServerState } from '../../../../src/jvm/server-reading.ts';
import { ApplicationVerdict } from '../../../../src/measure/verdict/application-verdict.ts';
import {
  type Evidence,
  type MinuteCounts,
  VERDICT_CODES,
  withConfirmedNames,
} from '../../../../src/measure/verdict/verdict.ts';
import { ManualClock } from '../../../support/clock.ts';

const NONE: MinuteCounts = {
  ...{ ok: 0, clientErrors: 0, errors: 0, unanswered: 0, aborted: 0, late: 0 },
  ...{ durationS: 0, clientWaitS: 0, longWaits: 0, unclassified: 0, misplaced: 0 },
};
const minute = (counts: Partial<MinuteCounts>): Pick<Evidence, 'minute'> => ({
  minute: { ...NONE, ok: 100, durationS: 1, ...counts },
});
const server = (state: Partial<ServerState>): Pick<Evidence, 'server'> => ({
  server: { connector: undefined, threads: {}, process: {}, cores: undefined, ...state },
});
const threads = (busyThreads: number, maxThreads: number) =>
  server({ connector: { port: 1, busyThreads, maxThreads } });
const descriptors = (openDescriptors: number, maxDescriptors: number) =>
  server({ process: { openDescriptors, maxDescriptors } });
const cores = (used: number, processors: number) => server({ cores: used, process: { processors } });
const waits = (clientWaitS: number, durationS: number, longWaits: number) =>
  minute({ clientWaitS, durationS, longWaits });
const unreachable = (reason: string, isTls = false): Pick<Evidence, 'upstream'> => ({
  upstream: { kind: 'unreachable', sinceEpochMs: 0, reason, isTls },
});
const HUNG = { kind: 'rpc', name: 'P.Report', count: 6, youngest: 12, oldest: 40, p99: 0.25 } as const;

/** One target that 99 % of the calls should meet. */
const targets = (met: number, missed: number): Pick<Evidence, 'targets'> => ({
  targets: [{ name: 'E.Boiler.*', withinMs: 500, share: 0.99, met, missed, kind: 'rpc' }],
});

function evidence(...parts: readonly Partial<Evidence>[]): Evidence {
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

const verdictOf = (...parts: readonly Partial<Evidence>[]) =>
  new ApplicationVerdict(new ManualClock()).judge(evidence(...parts));

/** What each rule needs to apply, and what is just not enough. */
const RULES: readonly (readonly [code: string, subject: string, applies: Partial<Evidence>, not: Partial<Evidence>])[] =
  [
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

it.each(RULES)('%s blames %s', (code, subject, applies, not) => {
  expect(verdictOf(applies)).toMatchObject({ code, subject });
  if (code !== 'fine') expect(verdictOf(not).code).toBe('fine');
});

it('the first rule in the order of the contract is the verdict, whatever else applies', () => {
  // The kinds of one upstream exclude each other, and quiet excludes the rules of calls.
  const all: Partial<Evidence>[] = RULES.map(([, , applies]) => applies).filter(
    ({ minute: counts }) => counts?.ok !== 0,
  );
  const connector = { port: 1, busyThreads: 9, maxThreads: 9 };
  const process = { openDescriptors: 9, maxDescriptors: 9, processors: 2 };
  const counts = { late: 9, aborted: 15, clientWaitS: 9, longWaits: 9 };
  const busy = server({ connector, cores: 2, process });
  const together = evidence(...all, busy, minute({ ...counts, ok: 20, errors: 9 }));
  const remedies: Partial<Record<string, Partial<Evidence>>> = {
    draining: { isLeaving: false },
    'own-certificate': { ownCertificateFault: undefined },
    'upstream-unreachable': { upstream: { kind: 'reachable', sinceEpochMs: 0 } },
    deadlock: { deadlock: undefined },
    'no-threads': server({ cores: 2, process }),
    descriptors: cores(2, 2),
    'hung-calls': { hung: null },
    'calls-fail': minute(counts),
    'calls-late': minute({ ...counts, late: 0 }),
    'target-missed': targets(1, 0),
    processors: { server: undefined },
    'garbage-collection': { collectorShare: 0 },
    'calls-slow': { p95: { now: null, usual: null } },
    'clients-slow': minute({ aborted: 15 }),
    'clients-leave': minute({}),
  };
  const seen: string[] = [];
  let now = together;
  for (let code = ''; code !== 'fine'; ) {
    ({ code } = verdictOf(now));
    seen.push(code);
    now = evidence(now, remedies[code] ?? {});
  }
  const skipped = ['upstream-tls', 'not-classified', 'quiet'];
  expect(seen).toEqual(VERDICT_CODES.filter((code) => !skipped.includes(code)));
});

it('all rules are listed in order, each with its condition and figure', () => {
  const { rules } = verdictOf(minute({ ok: 27, aborted: 3 }));
  expect(rules.map(({ code }) => code)).toEqual(VERDICT_CODES);
  expect(rules.filter(({ applies }) => applies).map(({ code }) => code)).toEqual(['clients-leave']);
  expect(rules.filter(({ code, text }) => code !== 'fine' && !text.includes('Now: '))).toEqual([]);
});

it('calls that fail name the call with most failures', () => {
  const worst = { kind: 'rpc', name: 'E.Boiler.Start', failed: 71, ended: 143 };
  const { name, text } = verdictOf({ worst }, minute({ errors: 71 }));
  expect(name).toBe('E.Boiler.Start');
  expect(text).toContain('most often E.Boiler.Start (71 of its 143)');
});

it('a hung call without an answer keeps its name from readers of numbers alone', () => {
  const verdict = verdictOf({ hung: { ...HUNG, p99: null } });
  expect(verdict).toMatchObject({ name: 'P.Report', text: expect.stringContaining('rpc P.Report hangs: 6 calls') });
  expect(JSON.stringify(withConfirmedNames(verdict))).not.toContain('P.Report');
  const confirmed = verdictOf({ hung: HUNG });
  expect(withConfirmedNames(confirmed)).toBe(confirmed);
});

it('a missing application names the path that passes and the one that is configured', () => {
  const { text } = verdictOf(minute({ ok: 0, misplaced: 20 }), { misplacedPath: '/smartweb/...' });
  expect(text).toContain('20 requests of the last minute for /smartweb/...');
  expect(text).toContain('the configured application is /smartWeb');
});

const steps = () => {
  const clock = new ManualClock();
  const verdict = new ApplicationVerdict(clock);
  const at = (seconds: number, ...parts: readonly Partial<Evidence>[]): string => {
    clock.ns = seconds * 1e9;
    return verdict.judge(evidence(...parts)).code;
  };
  return { clock, verdict, at };
};

it('a higher rule takes over at once, a rule that no longer applies keeps the verdict for 10 s', () => {
  const { at } = steps();
  expect(at(0)).toBe('fine');
  expect(at(1, { collectorShare: 0.5 })).toBe('garbage-collection');
  expect(at(2, { collectorShare: 0.5 }, { hung: HUNG })).toBe('hung-calls');
  expect(at(3, { collectorShare: 0.5 })).toBe('hung-calls');
  expect(at(11.9, { collectorShare: 0.5 })).toBe('hung-calls');
  expect(at(12, { collectorShare: 0.5 })).toBe('garbage-collection');
  expect(at(13)).toBe('garbage-collection');
  expect(at(22)).toBe('fine');
});

it('a rule that applies now and then does not flicker', () => {
  const { at, verdict } = steps();
  const codes = Array.from({ length: 60 }, (_, second) => at(second, second % 9 === 0 ? { hung: HUNG } : {}));
  expect(new Set(codes)).toEqual(new Set(['hung-calls']));
  expect(verdict.current?.sinceEpochMs).toBe(new ManualClock().epochMs());
});

it('quiet and fine are left at once', () => {
  const { at } = steps();
  expect(at(0, minute({ ok: 0 }))).toBe('quiet');
  expect(at(1)).toBe('fine');
  expect(at(2, minute({ ok: 0 }))).toBe('quiet');
});

it('since is the moment from which the code holds, whatever its figures', () => {
  const { at, verdict, clock } = steps();
  at(0);
  at(5, minute({ errors: 50 }));
  const began = clock.epochMs();
  at(6, minute({ errors: 60 }));
  at(8);
  expect(verdict.current?.sinceEpochMs).toBe(began);
  at(30);
  expect(verdict.current?.sinceEpochMs).toBe(clock.epochMs());
});
