import { describe, expect, it } from 'vitest';
import type { Live } from '../../../src/page/live-data.ts';
import { toSentences } from '../../../src/page/sentences.ts';
import { toVerdict } from '../../../src/page/verdict.ts';
import { application, live, NOW_MS, points } from '../../support/page/samples.ts';

const verdictOf = (history: ReturnType<typeof points>, state: Partial<Live> = {}) =>
  toVerdict({ live: live(state), application: application(), points: history, nowMs: NOW_MS });

const unreachable = (reason: string): Partial<Live> => ({
  upstream: { state: 'unreachable', since: new Date(NOW_MS - 60_000).toISOString(), reason },
});

describe('the verdict', () => {
  it('is that nothing is wrong while calls are answered as usual', () => {
    const { subject, text } = verdictOf(points(120, () => ({ rpc: [10, 0, 0.01, 0.03, 0.02] })));
    expect(subject).toBe('nobody');
    expect(text).toContain('120 calls in the last minute, none failed, p95 20.0 ms');
  });

  it('is unknown without a call', () => {
    expect(verdictOf(points(120, () => ({}))).subject).toBe('unknown');
  });

  it.each([
    ['ECONNREFUSED', 'server'],
    ['ECONNRESET', 'server'],
    ['ETIMEDOUT', 'network'],
    ['EHOSTUNREACH', 'network'],
    ['ENOTFOUND', 'network'],
    ['D2S_ERR_UPSTREAM_CONNECT_TIMEOUT', 'network'],
    ['CERT_HAS_EXPIRED', 'server'],
    ['EMFILE', 'sidecar'],
  ])('for an upstream that is unreachable with %s blames the %s', (reason, subject) => {
    const history = points(12, () => ({}));
    expect(verdictOf(history, unreachable(reason))).toMatchObject({ subject, text: expect.stringContaining(reason) });
  });

  it('blames the server from 5 % of failed calls, and at least 3', () => {
    const failing = (errors: number) => points(12, (at) => ({ rpc: [5, at < errors ? 1 : 0, 0.01, 0.01, 0.01] }));
    expect(verdictOf(failing(3)).subject).toBe('server');
    expect(verdictOf(failing(2)).subject).toBe('nobody');
    expect(verdictOf(points(12, (at) => ({ rpc: [100, at < 3 ? 1 : 0, 0.01, 0.01, 0.01] }))).subject).toBe('nobody');
  });

  it('counts calls without an answer, which are errors and not among the answered', () => {
    const textOf = (count: number) =>
      verdictOf(points(12, () => ({ rpc: [count, 4, null, null, null], unanswered: 4 }))).text;
    expect(textOf(0)).toBe('The server: 100 % of the calls failed in the last minute (48 of 48).');
    expect(textOf(4)).toBe('The server: 50 % of the calls failed in the last minute (48 of 96).');
  });

  it('blames the server when its collectors take 10 % of the time', () => {
    const paused = (gcPauseMs: number) => points(12, () => ({ rpc: [5, 0, 0.01, 0.01, 0.01], gcPauseMs }));
    expect(verdictOf(paused(500)).text).toContain('its JVM spent 10 % of the last minute');
    expect(verdictOf(paused(400)).subject).toBe('nobody');
  });

  it('blames the server when calls take twice as long as usual, and noticeably long', () => {
    const slower = (before: number, after: number) =>
      points(100, (at) => {
        const p95 = at < 88 ? before : after;
        return { rpc: [5, 0, p95 / 2, p95, p95] };
      });
    expect(verdictOf(slower(0.1, 0.2)).subject).toBe('server');
    expect(verdictOf(slower(0.1, 0.19)).subject).toBe('nobody');
    expect(verdictOf(slower(0.001, 0.04)).subject).toBe('nobody');
    // Four minutes before it are not enough to know the usual duration.
    expect(verdictOf(slower(0.1, 0.4).slice(-60)).subject).toBe('nobody');
  });

  it('blames a client when a tenth of the calls is aborted while all else is well', () => {
    const { subject, text } = verdictOf(points(12, () => ({ rpc: [5, 0, 0.01, 0.01, 0.01], aborted: 1 })));
    expect([subject, text.includes('12 calls of the last minute were aborted')]).toEqual(['client', true]);
  });

  it('follows the first rule that applies, and lists all rules with their figures', () => {
    const history = points(12, () => ({ rpc: [5, 5, 1, 1, 1], aborted: 5 }));
    const { subject, rules } = verdictOf(history, { state: 'draining' });
    expect(subject).toBe('sidecar');
    const names = rules.filter(({ applies }) => applies).map(({ name }) => name);
    expect(names).toEqual(['The sidecar is draining or stopping', 'Calls fail', 'Clients leave early']);
    expect(rules.every(({ text }) => text.includes('Now: '))).toBe(true);
  });
});

describe('the sentences of the page', () => {
  const textsOf = (state: Partial<Live>) => toSentences(live(state), NOW_MS).map(({ text }) => text);

  it('say since when the upstream cannot be reached, and why', () => {
    const [text] = textsOf(unreachable('ECONNREFUSED'));
    expect(text).toMatch(/^The upstream has refused connections since \d\d:\d\d:\d\d \(ECONNREFUSED\)\.$/);
  });

  it('give the other reasons, and keep the question mark of a reason', () => {
    expect(textsOf(unreachable('EHOSTUNREACH'))[0]).toMatch(/^There has been no route to the upstream since /);
    expect(textsOf(unreachable('D2S_ERR_UPSTREAM_CONNECT_TIMEOUT'))[0]).toMatch(
      /^The upstream has not accepted connections in time since \d\d:\d\d:\d\d \(D2S_ERR_UPSTREAM_CONNECT_TIMEOUT\)\.$/,
    );
    expect(textsOf(unreachable('EPROTO'))[0]).toMatch(/^The upstream could not be reached since /);
    const reason = 'Refused. Is the server up?';
    const jvm = { state: 'unavailable', source: null, since: null, reason, heapMax: null } as const;
    expect(textsOf({ jvm })).toContain('The JVM has not been readable: Refused. Is the server up?');
  });

  it('say which limits were reached and which exchanges failed in the last minute, and since when earlier ones count', () => {
    const counted = (sinceStart: number, inMinute: number) => ({ sinceStart, inMinute });
    const texts = textsOf({
      limits: [
        { key: 'sessions.max', ...counted(20, 12) },
        { key: 'limits.fields', ...counted(1, 0) },
      ],
      failures: [{ code: 'D2S_ERR_UPSTREAM_REFUSED', ...counted(1, 1) }],
      connections: { open: 3, refused: counted(2, 2) },
    });
    expect(texts).toEqual(
      expect.arrayContaining([
        'Limit sessions.max was reached 12 times in the last minute.',
        expect.stringMatching(/^Limit limits.fields was reached once since [\d:]{8}, but not in the last minute\.$/),
        '1 exchange failed with D2S_ERR_UPSTREAM_REFUSED in the last minute.',
        '2 connections were refused at a limit in the last minute.',
      ]),
    );
  });

  it('say what a drain does and how long it may take, and that no JVM is read', () => {
    const texts = textsOf({ state: 'draining', stopLeftSeconds: 12.3 });
    const drain =
      'The sidecar is draining: it keeps serving, and asks clients to leave; it stops in 12 s at the latest.';
    expect(texts).toEqual(expect.arrayContaining([drain, 'No JVM source is configured.']));
  });

  it.each<[string, Partial<Live>, string]>([
    [
      'a deadlock',
      { server: { deadlock: { threads: 2, at: new Date(NOW_MS).toISOString(), file: 'threads-1.txt' } } },
      'The server: a deadlock, which only a restart ends (2 threads, in threads-1.txt of ',
    ],
    [
      'no request thread',
      { server: { 'threads.busy': 10, 'threads.max': 10 } },
      'The server: all its 10 request threads are busy, so that further calls wait.',
    ],
    [
      'few descriptors',
      { server: { 'process.descriptors.open': 950, 'process.descriptors.max': 1_000 } },
      'The server: it has 950 of 1,000 descriptors open, and fails when none are left.',
    ],
    [
      'no processor time',
      { server: { 'process.cpu': 1.95, processors: 2 } },
      'The server: its JVM uses 1.95 of 2 processors, so that calls wait for one.',
    ],
  ])('blames the server for %s', (_what, state, text) => {
    const calm = points(12, () => ({ rpc: [5, 0, 0.01, 0.01, 0.01] }));
    expect(verdictOf(calm, state)).toMatchObject({ subject: 'server', text: expect.stringContaining(text) });
    const almost = { 'threads.busy': 9, 'threads.max': 10, 'process.cpu': 1.7, processors: 2 };
    const few = { 'process.descriptors.open': 899, 'process.descriptors.max': 1_000 };
    expect(verdictOf(calm, { server: { ...almost, ...few } }).subject).toBe('nobody');
  });

  it('names the call that hangs, before calls that fail', () => {
    const hung = { kind: 'rpc', name: 'P.Report', count: 6, youngest: 12, oldest: 40, p99: 0.25 };
    const failing = points(12, () => ({ rpc: [5, 5, 0.01, 0.01, 0.01] }));
    const stuck = application([], { running: { count: 6, hung } });
    const { text } = toVerdict({ live: live(), application: stuck, points: failing, nowMs: NOW_MS });
    expect(text).toBe('The server: rpc P.Report hangs: 6 calls for 12.0 s to 40.0 s, usually at most 250 ms.');
  });
});
