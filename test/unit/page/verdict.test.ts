import { expect, it } from 'vitest';
import { formatTime } from '../../../src/page/format.ts';
import type { Live } from '../../../src/page/live-data.ts';
import { toVerdict } from '../../../src/page/verdict.ts';
import { application, live, NOW_MS, points } from '../../support/page/samples.ts';

const verdictOf = (history: ReturnType<typeof points>, state: Partial<Live> = {}) =>
  toVerdict({ live: live(state), application: application(), points: history, nowMs: NOW_MS });

const unreachable = (reason: string): Partial<Live> => ({
  upstream: { state: 'unreachable', since: new Date(NOW_MS - 60_000).toISOString(), reason },
});

it('the verdict is that nothing is wrong while calls are answered as usual', () => {
  const { subject, text } = verdictOf(points(120, () => ({ rpc: [10, 0, 0.01, 0.03, 0.02] })));
  expect(subject).toBe('nobody');
  expect(text).toBe(
    'No sign of trouble with the server, the network or a client: 120 calls in the last minute, none failed, p95 20.0 ms.',
  );
});

it('the verdict is unknown without a call', () => {
  const { subject, text } = verdictOf(points(120, () => ({})));
  expect([subject, text]).toEqual(['unknown', 'Nothing to judge by: no call was answered in the last minute.']);
});

const NO_WAY = 'The network: there is no route to the server';
const NO_CONNECTIONS = 'The server: it has not accepted connections';
it.each([
  ['ECONNREFUSED', 'server', NO_CONNECTIONS],
  ['ECONNRESET', 'server', NO_CONNECTIONS],
  ['ETIMEDOUT', 'network', NO_WAY],
  ['EHOSTUNREACH', 'network', NO_WAY],
  ['ENOTFOUND', 'network', NO_WAY],
  ['D2S_ERR_UPSTREAM_CONNECT_TIMEOUT', 'network', NO_WAY],
  ['CERT_HAS_EXPIRED', 'server', NO_CONNECTIONS],
  ['EMFILE', 'sidecar', 'The sidecar: its machine has no resources left to open a connection'],
])('the verdict for an upstream that is unreachable with %s blames the %s', (reason, subject, what) => {
  const text = `${what} since ${formatTime(NOW_MS - 60_000, NOW_MS)} (${reason}).`;
  const noCalls = points(12, () => ({}));
  expect(verdictOf(noCalls, unreachable(reason))).toMatchObject({ subject, text });
});

it('the verdict blames the server from 5 % of failed calls, and at least 3', () => {
  const failing = (errors: number) => points(12, (at) => ({ rpc: [5, at < errors ? 1 : 0, 0.01, 0.01, 0.01] }));
  expect(verdictOf(failing(3)).subject).toBe('server');
  expect(verdictOf(failing(2)).subject).toBe('nobody');
  expect(verdictOf(points(12, (at) => ({ rpc: [100, at < 3 ? 1 : 0, 0.01, 0.01, 0.01] }))).subject).toBe('nobody');
});

it('the verdict counts calls without an answer, which are errors and not among the answered', () => {
  const textOf = (count: number) =>
    verdictOf(points(12, () => ({ rpc: [count, 4, null, null, null], unanswered: 4 }))).text;
  expect(textOf(0)).toBe('The server: 100 % of the calls failed in the last minute (48 of 48).');
  expect(textOf(4)).toBe('The server: 50 % of the calls failed in the last minute (48 of 96).');
});

it('the verdict blames the server when its collectors take 10 % of the time', () => {
  const paused = (gcPauseMs: number) => points(12, () => ({ rpc: [5, 0, 0.01, 0.01, 0.01], gcPauseMs }));
  const text = 'The server: its JVM spent 10 % of the last minute on collecting garbage.';
  expect(verdictOf(paused(500))).toMatchObject({ subject: 'server', text });
  expect(verdictOf(paused(400)).subject).toBe('nobody');
});

it('the verdict blames the server when calls take twice as long as usual, and noticeably long', () => {
  const slower = (before: number, after: number) =>
    points(100, (at) => {
      const p95 = at < 88 ? before : after;
      return { rpc: [5, 0, p95 / 2, p95, p95] };
    });
  const text =
    'The server, or the network between the sidecar and it: calls take longer than usual (p95 200 ms, usually 100 ms).';
  expect(verdictOf(slower(0.1, 0.2))).toMatchObject({ subject: 'server', text });
  expect(verdictOf(slower(0.1, 0.19)).subject).toBe('nobody');
  expect(verdictOf(slower(0.001, 0.04)).subject).toBe('nobody');
  // Four minutes before it are not enough to know the usual duration.
  expect(verdictOf(slower(0.1, 0.4).slice(-60)).subject).toBe('nobody');
});

it('the verdict blames a client when a tenth of the calls is aborted while all else is well', () => {
  const text =
    'A client, or the network between clients and here: 12 calls of the last minute were aborted by the client before the answer had ended, while the server answers as usual.';
  const history = points(12, () => ({ rpc: [5, 0, 0.01, 0.01, 0.01], aborted: 1 }));
  expect(verdictOf(history)).toMatchObject({ subject: 'client', text });
});

it('the verdict follows the first rule that applies, and lists all rules with their figures', () => {
  const history = points(12, () => ({ rpc: [5, 5, 1, 1, 1], aborted: 5 }));
  const { subject, text, rules } = verdictOf(history, { state: 'draining' });
  expect(subject).toBe('sidecar');
  expect(text).toBe('The sidecar is draining on request: clients are asked to leave.');
  const names = rules.filter(({ applies }) => applies).map(({ name }) => name);
  expect(names).toEqual(['The sidecar is draining or stopping', 'Calls fail', 'Clients leave early']);
  expect(rules.every(({ text }) => text.includes('Now: '))).toBe(true);
});

const deadlock = { threads: 2, at: new Date(NOW_MS).toISOString(), file: 'threads-1.txt' };
const noThread = { 'threads.busy': 10, 'threads.max': 10 };
const noProcessor = { 'process.cpu': 1.95, processors: 2 };
const fewDescriptors = { 'process.descriptors.open': 950, 'process.descriptors.max': 1_000 };
it.each<[string, Live['server'], string]>([
  ['a deadlock', { deadlock }, 'a deadlock, which only a restart ends (2 threads, in threads-1.txt of '],
  ['no request thread', noThread, 'all its 10 request threads are busy, so that further calls wait.'],
  ['few descriptors', fewDescriptors, 'it has 950 of 1,000 descriptors open, and fails when none are left.'],
  ['no processor time', noProcessor, 'its JVM uses 1.95 of 2 processors, so that calls wait for one.'],
])('the verdict blames the server for %s', (_what, server, text) => {
  const calm = points(12, () => ({ rpc: [5, 0, 0.01, 0.01, 0.01] }));
  const whole = expect.stringContaining(`The server: ${text}`);
  expect(verdictOf(calm, { server })).toMatchObject({ subject: 'server', text: whole });
  const almost = { 'threads.busy': 9, 'threads.max': 10, 'process.cpu': 1.7, processors: 2 };
  const few = { 'process.descriptors.open': 899, 'process.descriptors.max': 1_000 };
  expect(verdictOf(calm, { server: { ...almost, ...few } }).subject).toBe('nobody');
});

it('the verdict names the call that hangs, before calls that fail', () => {
  const hung = { kind: 'rpc', name: 'P.Report', count: 6, youngest: 12, oldest: 40, p99: 0.25 };
  const failing = points(12, () => ({ rpc: [5, 5, 0.01, 0.01, 0.01] }));
  const stuck = application([], { running: { count: 6, hung } });
  const { text } = toVerdict({ live: live(), application: stuck, points: failing, nowMs: NOW_MS });
  expect(text).toBe('The server: rpc P.Report hangs: 6 calls for 12.0 s to 40.0 s, usually at most 250 ms.');
});

it('the verdict names the worst call if it is about calls, or nothing is wrong', () => {
  const worstCall = { kind: 'rpc', name: 'E.Demo.Run', failed: 1, ended: 40 } as const;
  const worstOf = (errors: number, state: Partial<Live> = {}) => {
    const history = points(12, () => ({ rpc: [10, errors, 0.01, 0.03, 0.02] }));
    const judged = { live: live(state), application: application([], { worstCall }), points: history };
    return toVerdict({ ...judged, nowMs: NOW_MS }).worst;
  };
  expect([worstOf(0), worstOf(5)]).toEqual([worstCall, worstCall]);
  expect(worstOf(5, unreachable('ECONNREFUSED'))).toBeUndefined();
});
