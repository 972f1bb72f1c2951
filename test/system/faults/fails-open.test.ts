/**
 * Measuring fails open: with every observer throwing, every table full and no source for the JVM, both ends see the same bytes
 * as without a sidecar. The configuration turns the cases of `data-path.cases.ts` into calls of the application.
 */
import { afterAll, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import type { Recorder } from '../../../src/measure/record/recorder.ts';
import type { Exchange, ResponseHeadView } from '../../../src/proxy/exchange/exchange.ts';
import { deferTo } from '../../support/deferred.ts';
import { dataPathCases } from '../data-path.cases.ts';
import { Comparison } from '../wire/comparison.ts';
import { answeringWith, asking, request, responseWith, SWITCHING, WEBSOCKET } from '../wire/compose.ts';
import type { DataPathCase } from '../wire/run-case.ts';
import { acceptUpgrade, heads, send, takeRequest, tunnelCame, untilEnded } from '../wire/steps.ts';
import { startFaultStand } from './fault-stand.ts';

const LONG = { timeout: 60_000 };
/** Frames of a text, unmasked from the server, masked (with zeros) from the client. */
const fromServer = (text: string) => `\x81${String.fromCharCode(text.length)}${text}`;
const fromClient = (text: string) => `\x81${String.fromCharCode(0x80 + text.length)}\0\0\0\0${text}`;

const json = (value: unknown) => JSON.stringify(value);
const CONNECT = json([{ channel: '/meta/connect', clientId: 'c1', connectionType: 'websocket' }]);
const PUSHED = fromServer(json([{ channel: '/d2/object/H.A', data: 1 }]));

/** Comet traffic, which fills tables as well. */
const cometCases: readonly DataPathCase[] = [
  {
    name: 'a Comet conversation over WebSocket',
    statuses: [101],
    isIrregular: true,
    upstream: [
      ...[takeRequest, acceptUpgrade, send(SWITCHING), tunnelCame(fromClient(CONNECT).length)],
      ...[send(fromServer('not Bayeux') + PUSHED), untilEnded],
    ],
    client: [
      ...[send(request('GET /live', ...WEBSOCKET)), heads(1), send(fromClient(CONNECT))],
      tunnelCame(PUSHED.length + fromServer('not Bayeux').length),
    ],
  },
];

const quick = [...dataPathCases.filter(({ deadlineMs }) => deadlineMs === undefined), ...cometCases];

/** Bounds so low that all of them are exceeded. */
function narrow(base: Config): Partial<Config> {
  const capture = { path: 'calls/{number}', kind: 'rpc', name: 'C.{number}' } as const;
  const reading = { path: 'a/{object}', kind: 'object', name: '{object}' } as const;
  return {
    forwarded: 'off',
    applications: [''],
    rest: {
      ...{ prefix: '', defaultRules: false, deny: [] },
      rules: [
        { methods: ['GET', 'POST', 'PUT', 'DELETE'], ...capture },
        { methods: ['GET'], ...reading },
      ],
    },
    metrics: { ...base.metrics, maxNames: { rpc: 1, sba: 1, object: 1 }, maxNamesPerSession: 1 },
    sessions: { ...base.sessions, max: 1 },
    comet: {
      ...{ ...base.comet, path: 'live', maxBodyBytes: 64, maxInflatedBytes: 64 },
      ...{ maxSubscriptions: 1, maxPendingCalls: 1 },
    },
    jvm: { ...base.jvm, source: 'hsperfdata', pid: 4_000_000, intervalMs: 10 },
  };
}

/** All entry points of measuring: every other exchange fails at its beginning, the others at their bytes, heads and ends. */
function breakAll(recorder: Recorder): void {
  const failing = () => {
    throw new TypeError('secret of a request');
  };
  const body = { onBytes: failing, onEnd: failing };
  let begun = 0;
  Object.assign(recorder, {
    onBegin: (exchange: Exchange) => {
      begun += 1;
      if (begun % 2 === 0) failing();
      exchange.wantsResponse = true;
      if (begun % 3 === 0) exchange.requestObserver = body;
    },
    onResponse: (exchange: Exchange, { status }: ResponseHeadView) => {
      if (status === 404) failing();
      exchange.responseObserver = body;
      exchange.tunnelObserver = { onClientBytes: failing, onUpstreamBytes: failing, onClosed: failing };
    },
    onEnd: failing,
    sweep: failing,
  });
}

const defer = deferTo(afterAll);
const comparison = await Comparison.start();
defer(() => comparison.close());

const config = (base: Config) => ({ ...narrow(base), upstream: { ...base.upstream, port: comparison.upstream.port } });
const harness = await startFaultStand({ config }, defer);

it('the sidecar passes everything on unchanged when every table is full and the JVM cannot be read', LONG, async () => {
  await fill(harness.port);
  await comparison.playAll(quick, harness.port, 'bytes');
  const samples = await harness.samples();
  const unread = [...samples].filter(([name, value]) => name.startsWith('d2_sidecar_comet_unread_total') && value > 0);
  expect(unread).not.toEqual([]);
  for (const name of [
    ...['rpc', 'object'].map((kind) => `d2_sidecar_names_folded_total{application="",kind="${kind}"}`),
    ...['d2_sidecar_sessions_untracked_total', 'd2_sidecar_jvm_read_failures_total'],
  ]) {
    expect(samples.get(name), name).toBeGreaterThan(0);
  }
  expect(samples.get('d2_sidecar_jvm_source_up')).toBe(0);
  expect(samples.get('d2_sidecar_observer_errors_total')).toBe(0);
});

it('the sidecar passes everything on unchanged when all measuring throws, and logs that once', LONG, async () => {
  breakAll(harness.sidecar.recorder);
  await comparison.playAll(quick, harness.port, 'bytes');
  const { reporter } = harness.sidecar;
  const before = reporter.observerErrors;
  expect(before).toBeGreaterThan(quick.length);
  // Timers throw as well, and do not end the process.
  await expect.poll(() => reporter.observerErrors, { timeout: 3_000 }).toBeGreaterThan(before);
  expect((await harness.samples()).get('d2_sidecar_observer_errors_total')).toBeGreaterThan(before);
  const errors = harness.logged.filter(({ level }) => level === 'error').map(({ details }) => details);
  expect(errors).toEqual([{ error: 'TypeError' }]);
  expect(JSON.stringify(harness.logged)).not.toContain('secret');
});

/** Two users, names and objects, each one more than the table holds. */
async function fill(port: number): Promise<void> {
  for (const user of ['one', 'two']) {
    for (const path of [`calls/${user}`, `a/${user}`]) {
      const authorization = `Authorization: Basic ${Buffer.from(`${user}:x`).toString('base64')}`;
      const subject: DataPathCase = {
        name: user,
        sidecarOnly: 'only the sidecar has tables',
        upstream: answeringWith(() => responseWith('fine', '200 OK')),
        client: asking(request(`GET /${path}`, authorization)),
      };
      await comparison.play(subject, port, 'fields');
    }
  }
}
