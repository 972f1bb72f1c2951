import { expect, it } from 'vitest';
import type { Evidence } from '../../../../src/measure/verdict/evidence.ts';
import { VERDICT_CODES } from '../../../../src/measure/verdict/rules.ts';
import { ApplicationVerdict, withConfirmedNames } from '../../../../src/measure/verdict/verdicts.ts';
import { ManualClock } from '../../../support/clock.ts';
import { cores, evidence, HUNG, minute, RULES, server, targets } from '../../../support/measure/verdict-evidence.ts';

const verdictOf = (...parts: readonly Partial<Evidence>[]) =>
  new ApplicationVerdict(new ManualClock()).judge(evidence(...parts));

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

it('calls that fail name the call with most failures; a missing application the path that passes, and the one that is configured', () => {
  const worst = { kind: 'rpc', name: 'E.Boiler.Start', failed: 71, ended: 143 };
  const { name, text } = verdictOf({ worst }, minute({ errors: 71 }));
  expect(name).toBe('E.Boiler.Start');
  expect(text).toContain('most often E.Boiler.Start (71 of its 143)');
  const refused = verdictOf({ worst }, minute({ unanswered: 71, refusedHere: 71 }));
  const text71 = expect.stringContaining('it refused 71 calls');
  expect(refused).toMatchObject({ subject: 'sidecar', name: null, text: text71 });
  const { text: missing } = verdictOf(minute({ ok: 0, misplaced: 20 }), { misplacedPath: '/smartweb/...' });
  expect(missing).toContain('20 requests of the last minute for /smartweb/...');
  expect(missing).toContain('the configured application is /smartWeb');
});

it('a hung call without an answer keeps its name from readers of numbers alone', () => {
  const verdict = verdictOf({ hung: { ...HUNG, p99: null } });
  expect(verdict).toMatchObject({ name: 'P.Report', text: expect.stringContaining('rpc P.Report hangs: 6 calls') });
  expect(JSON.stringify(withConfirmedNames(verdict))).not.toContain('P.Report');
  const confirmed = verdictOf({ hung: HUNG });
  expect(withConfirmedNames(confirmed)).toBe(confirmed);
});

it('a higher rule takes over at once, one that no longer applies keeps the verdict for 10 s, but for quiet and fine', () => {
  const clock = new ManualClock();
  const verdict = new ApplicationVerdict(clock);
  const at = (seconds: number, ...parts: readonly Partial<Evidence>[]): string => {
    clock.ns = seconds * 1e9;
    return verdict.judge(evidence(...parts)).code;
  };
  expect(at(0)).toBe('fine');
  expect(at(1, { collectorShare: 0.5 })).toBe('garbage-collection');
  expect(at(2, { collectorShare: 0.5 }, { hung: HUNG })).toBe('hung-calls');
  expect(at(3, { collectorShare: 0.5 })).toBe('hung-calls');
  expect(at(11.9, { collectorShare: 0.4 })).toBe('hung-calls');
  // Since the code holds, whatever its figures.
  expect(verdict.current?.sinceEpochMs).toBe(clock.epochMs() - 9_900);
  expect(at(12, { collectorShare: 0.5 })).toBe('garbage-collection');
  expect(verdict.current?.sinceEpochMs).toBe(clock.epochMs());
  expect(at(13)).toBe('garbage-collection');
  expect(at(22)).toBe('fine');
  expect(at(23, minute({ ok: 0 }))).toBe('quiet');
  expect(at(24)).toBe('fine');
});
