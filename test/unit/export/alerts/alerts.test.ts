import { expect, it } from 'vitest';
import { createTable } from '../../../../src/base/metric-description.ts';
import { ALERT_METRICS } from '../../../../src/export/alerts/alert-metrics.ts';
import { SendError } from '../../../../src/export/alerts/outbox.ts';
import type { SlowEntry } from '../../../../src/measure/record/running-calls.ts';
import { ManualClock } from '../../../support/clock.ts';
import { useFolder } from '../../../support/export/access-log/folder.ts';
import { DOWN, NotingChannel, openAlerts, playChanges } from '../../../support/export/alerts/stand.ts';
import { HUNG, minute } from '../../../support/measure/verdict-evidence.ts';

const inFolder = useFolder();

/** Half of the calls fail, most often E.Boiler.Start. */
const FAILING = {
  ...minute({ ok: 10, errors: 10 }),
  worst: { kind: 'rpc', name: 'E.Boiler.Start', failed: 9, ended: 12 },
} as const;
const LATE = minute({ ok: 10, late: 10 });

it('a message at the beginning, and one at the end, with the same id', async () => {
  const { channel, pass } = await openAlerts();
  await pass(5);
  await pass(30, FAILING);
  await pass(30);
  await pass(30);
  expect(channel.got).toHaveLength(2);
  const [begins, ends] = channel.got;
  const shared = {
    ...{ id: expect.stringMatching(/^[0-9a-f-]{36}$/), application: 'smartWeb', subject: 'server', code: 'calls-fail' },
    ...{ name: 'E.Boiler.Start', since: '2026-03-01T08:00:06.000Z' },
  };
  expect(begins).toEqual({
    ...shared,
    event: 'begins',
    text: 'The server: 50 % of the calls failed in the last minute (10 of 20), most often E.Boiler.Start (9 of its 12).',
    until: null,
    url: 'http://127.0.0.1:9280/#/smartWeb/rpc/E.Boiler.Start',
  });
  // The verdict itself keeps a code for 10 s.
  expect(ends).toEqual({
    ...shared,
    ...{ id: begins?.id, event: 'ends', url: begins?.url, until: '2026-03-01T08:00:45.000Z' },
    text: `Over after 39 s: ${begins?.text} Now: No sign of trouble with the server, the network or a client: 100 calls in the last minute, none failed, p95 of RPCs 20.0 ms.`,
  });
});

it('an end is not before its beginning, also if the clock is set back', async () => {
  const clock = new ManualClock();
  const { channel, pass } = await openAlerts({ clock });
  await pass(5, FAILING);
  clock.setBackS(7_200);
  await pass(60);
  const [begins, ends] = channel.got;
  expect(ends).toMatchObject({ event: 'ends', since: begins?.since, until: begins?.since });
});

it('begins within 10 s of the code, and ends within 20 s after it', async () => {
  const { channel, pass } = await openAlerts();
  await pass(4, FAILING);
  expect(channel.events).toEqual(['begins calls-fail']);
  // 10 s in which the verdict keeps its code, and at most 20 s more.
  await pass(10 + 19);
  expect(channel.events).toEqual(['begins calls-fail', 'ends calls-fail']);
});

it('says nothing of draining, of quiet, of what lasts a moment, and nothing ends while the sidecar drains', async () => {
  const { channel, pass } = await openAlerts();
  await pass(30, minute({ ok: 0 }));
  await pass(1, { hung: HUNG });
  // The verdict keeps it for 10 s, then it has another one.
  await pass(30, FAILING);
  await pass(120, { isLeaving: true, lifecycleState: 'draining' });
  expect(channel.events).toEqual(['begins hung-calls', 'begins calls-fail', 'ends hung-calls']);
});

it('flicker is one episode', async () => {
  const { channel, pass } = await openAlerts();
  for (let turn = 0; turn < 20; turn += 1) {
    await pass(5, FAILING);
    await pass(14);
  }
  await pass(30);
  expect(channel.events).toEqual(['begins calls-fail', 'ends calls-fail']);
});

it('names the user of the slowest call only with alerts.users', async () => {
  const call = { kind: 'rpc', name: 'E.Slow', outcome: 'ok', userName: 'ann', duration: 12.5, clientWait: 0.25 };
  const slowest = [call as SlowEntry];
  const without = await openAlerts({ slowest });
  await without.pass(5, LATE);
  const text = without.channel.got[0]?.text;
  expect(text).toContain('Slowest call of the last minute: rpc E.Slow: 12.5 s for the server, 250 ms for its client.');
  const withUsers = await openAlerts({ slowest, alerts: { users: true } });
  await withUsers.pass(5, LATE);
  expect(withUsers.channel.got[0]?.text).toContain('rpc E.Slow, of the user ann: 12.5 s');
});

it('a name that no answer has confirmed is not in a message', async () => {
  const { channel, pass } = await openAlerts();
  await pass(5, { hung: { ...HUNG, name: 'secret=4711', p99: null } });
  expect(JSON.stringify(channel.got)).not.toContain('4711');
  expect(channel.events).toEqual(['begins hung-calls']);
});

it('each message once and in order, although the receiver is down for an hour', async () => {
  const { alerts, channel, pass } = await openAlerts();
  channel.failure = DOWN;
  await pass(60, FAILING);
  expect(alerts.state.channels).toEqual([
    {
      channel: 'webhook',
      waiting: 1,
      failure: { reason: 'the receiver refused the connection (ECONNREFUSED)', since: '2026-03-01T08:00:03.000Z' },
    },
  ]);
  await pass(40);
  await pass(60, LATE);
  await pass(3_600 - 160);
  // Tried after 2 s, then half as often each time, at most every 5 minutes.
  expect(channel.tries).toBeGreaterThanOrEqual(15);
  expect(channel.tries).toBeLessThanOrEqual(22);
  channel.failure = undefined;
  await pass(301);
  expect(channel.events).toEqual(['begins calls-fail', 'ends calls-fail', 'begins calls-late', 'ends calls-late']);
  expect(alerts.state.channels[0]).toMatchObject({ waiting: 0, failure: null });
});

it.each([
  ['the receiver refused the connection (ECONNREFUSED)', 'ECONNREFUSED'],
  ['the receiver answered 503', '503'],
  ['the mail server refused the login: are they right? (SMTP 535)', '535'],
  ['no answer within 10 s', 'timeout'],
  ['The file /etc/d2-sidecar/key (alerts.webhook.secretFile) cannot be read', 'other'],
])('/metrics has the reason of the last failure: %s', async (text, reason) => {
  const { alerts, channel, pass } = await openAlerts();
  const metric = ALERT_METRICS.find(({ name }) => name === 'd2_sidecar_alerts_failure_info');
  const samples = () => [...(metric === undefined ? [] : createTable(metric, alerts).samples())];
  expect(samples()).toEqual([]);
  channel.failure = new SendError(text);
  await pass(5, FAILING);
  expect(samples()).toEqual([{ labels: ['webhook', reason], value: 1 }]);
});

it('the first retry comes within 5 s', async () => {
  const { channel, pass } = await openAlerts();
  channel.failure = DOWN;
  await pass(3, FAILING);
  expect(channel.tries).toBe(1);
  channel.failure = undefined;
  await pass(2, FAILING);
  expect(channel.events).toEqual(['begins calls-fail']);
});

it('a message that the receiver refuses does not hold up the next one', async () => {
  const { alerts, channel, pass } = await openAlerts();
  channel.failure = new SendError('the receiver answered 400', true);
  await pass(5, FAILING);
  channel.failure = undefined;
  await pass(40);
  expect(channel.events).toEqual(['ends calls-fail']);
  expect(alerts.outboxes[0]?.counts).toEqual({ sent: 1, failures: 1, dropped: 1 });
});

it('100 changes in ten minutes: the limit holds in each hour, is said, and the last state is told', async () => {
  const { alerts, channel, clock, pass } = await openAlerts({ alerts: { maxPerHour: 20 } });
  const sentAt: number[] = [];
  const { send } = channel;
  channel.send = (message) => {
    sentAt.push(clock.epochMs());
    return send(message);
  };
  await playChanges(pass);
  const untold = alerts.episodes.untoldTotal.limit;
  expect(untold).toBeGreaterThan(20);
  expect(channel.got[9]?.text).toMatch(/This is the last message for \d min( \d+ s)?: at most 20 are sent an hour/);
  await pass(1_800, { hung: HUNG });
  const notes = channel.got.filter(({ text }) => /messages were left out: at most 20 are sent an hour/.test(text));
  expect(notes.length).toBeGreaterThan(0);
  expect(channel.events.at(-1)).toBe('begins hung-calls');
  const inAnHour = (from: number) => sentAt.filter((at) => at >= from && at < from + 3_600_000).length;
  expect(Math.max(...sentAt.map(inAnHour))).toBeLessThanOrEqual(20);
  await pass(7_200);
  // What was told to begin has ended, each once.
  const ids = (event: string) => channel.got.filter((one) => one.event === event).map(({ id }) => id);
  expect(ids('ends').sort()).toEqual(ids('begins').sort());
});

it('a silence: nothing is sent, and afterwards, or once it is ended early, what still holds', async () => {
  const { alerts, channel, clock, pass } = await openAlerts();
  await pass(20, LATE);
  await alerts.silence(600_000, 'index build');
  expect(alerts.state.silence).toEqual({ until: '2026-03-01T08:10:20.000Z', text: 'index build' });
  await pass(100, { collectorShare: 0.5 });
  await pass(100, { hung: HUNG });
  await pass(390, FAILING);
  expect(channel.events).toEqual(['begins calls-late']);
  await pass(30, FAILING);
  expect(alerts.state.silence).toBeNull();
  expect(channel.events).toEqual(['begins calls-late', 'ends calls-late', 'begins calls-fail']);
  // Those of garbage-collection and hung-calls came and went.
  expect(channel.got[1]?.text).toContain('During the silence, 4 messages were left out.');
  expect(clock.epochMs()).toBe(Date.parse('2026-03-01T08:10:40.000Z'));
  await alerts.silence(600_000, '');
  await pass(60);
  expect(channel.events).toHaveLength(3);
  await alerts.silence(0, '');
  await pass(1);
  expect(channel.events.at(-1)).toBe('ends calls-fail');
});

/** Alerts whose state is in a file, and those of later processes with the same file and receiver. */
async function openWithFile() {
  const parts = { file: inFolder('state.alerts'), channel: new NotingChannel() };
  const first = await openAlerts(parts);
  return { first, channel: parts.channel, restart: () => openAlerts({ ...parts, clock: first.clock }) };
}

it.each([0, 1, 2, 3, 5, 9, 13, 30, 60, 90])('each message once, with a restart after %i s', async (restartAfterS) => {
  const { first, channel, restart } = await openWithFile();
  const at = (second: number) => (second < 45 ? [FAILING] : second < 100 ? [LATE] : []);
  let { pass } = first;
  for (let second = 0; second < 200; second += 1) {
    if (second === restartAfterS) {
      await first.alerts.stop();
      ({ pass } = await restart());
    }
    await pass(1, ...at(second));
  }
  expect(channel.events).toEqual(['begins calls-fail', 'begins calls-late', 'ends calls-fail', 'ends calls-late']);
  expect(new Set(channel.got.map(({ id }) => id)).size).toBe(2);
});

it('what waits, the silence and the limit outlive a restart, also one by a crash', async () => {
  const { first, channel, restart } = await openWithFile();
  channel.failure = DOWN;
  await first.pass(10, FAILING);
  await first.alerts.silence(60_000, 'index build');
  // No stop: killed.
  channel.failure = undefined;
  const second = await restart();
  expect(second.alerts.state.silence).toMatchObject({ text: 'index build' });
  await second.pass(3, FAILING);
  expect(channel.events).toEqual(['begins calls-fail']);
  await second.pass(100);
  expect(channel.events).toEqual(['begins calls-fail', 'ends calls-fail']);
});

it('few failing calls after a restart are the same finding, and one that is over is told within 20 s', async () => {
  const { first, channel, restart } = await openWithFile();
  await first.pass(20, FAILING);
  await first.alerts.stop();
  const second = await restart();
  // Too few to judge by.
  await second.pass(14, minute({ ok: 0, errors: 2 }));
  await second.pass(20, FAILING);
  expect(channel.events).toEqual(['begins calls-fail']);
  await second.alerts.stop();
  const third = await restart();
  await third.pass(17);
  expect(channel.events).toEqual(['begins calls-fail', 'ends calls-fail']);
});
