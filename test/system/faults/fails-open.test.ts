/** Measuring fails open: with full tables, and with every observer throwing, both ends see the same bytes as without a sidecar. */
import { afterAll, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import type { Recorder } from '../../../src/measure/record/recorder.ts';
import type { Exchange, ResponseHeadView } from '../../../src/proxy/exchange/exchange.ts';
import { deferTo } from '../../support/deferred.ts';
import { dataPathCases } from '../data-path.cases.ts';
import { Comparison } from '../wire/comparison.ts';
import { answeringWith, asking, request, responseWith } from '../wire/compose.ts';
import { startFaultStand } from './fault-stand.ts';

const LONG = { timeout: 60_000 };
const quick = dataPathCases.filter(({ deadlineMs }) => deadlineMs === undefined);

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

/** With bounds so low that most of them are exceeded. */
const config = (base: Config): Partial<Config> => ({
  forwarded: 'off',
  upstream: { ...base.upstream, port: comparison.upstream.port },
  applications: [''],
  rest: {
    ...{ prefix: '', defaultRules: false, deny: [] },
    rules: [{ methods: ['GET', 'POST', 'PUT', 'DELETE'], path: 'calls/{number}', kind: 'rpc', name: 'C.{number}' }],
  },
  metrics: { ...base.metrics, maxNames: { rpc: 1, sba: 1, object: 1 }, maxNamesPerSession: 1 },
  sessions: { ...base.sessions, max: 1 },
  jvm: { ...base.jvm, source: 'hsperfdata', pid: 4_000_000, intervalMs: 10 },
});
const harness = await startFaultStand({ config }, defer);

it('the sidecar passes everything on unchanged when every table is full and the JVM cannot be read', LONG, async () => {
  for (const user of ['one', 'two']) {
    const authorization = `Authorization: Basic ${Buffer.from(`${user}:x`).toString('base64')}`;
    const [name, sidecarOnly] = [user, 'only the sidecar has tables'];
    const upstream = answeringWith(() => responseWith('fine', '200 OK'));
    const client = asking(request(`GET /calls/${user}`, authorization));
    await comparison.play({ name, sidecarOnly, upstream, client }, harness.port, 'fields');
  }
  await comparison.playAll(quick, harness.port, 'bytes');
  const samples = await harness.samples();
  expect(samples.get('d2_sidecar_names_folded_total{application="",kind="rpc"}')).toBeGreaterThan(0);
  expect(samples.get('d2_sidecar_sessions_untracked_total')).toBeGreaterThan(0);
  expect(samples.get('d2_sidecar_jvm_read_failures_total')).toBeGreaterThan(0);
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
