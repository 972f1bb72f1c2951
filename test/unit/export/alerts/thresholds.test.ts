import { expect, it } from 'vitest';
import { parseMailServer } from '../../../../src/config/alerts-schema.ts';
import { configSchema, findConflicts } from '../../../../src/config/schema.ts';
import { createMinute } from '../../../support/archive/minutes.ts';
import { alertsConfig, openAlerts } from '../../../support/export/alerts/stand.ts';

interface Calls {
  readonly ms: readonly number[];
  readonly errors?: number;
}

/** A minute of RPCs of smartWeb, by name. */
const minuteOf = (byName: Readonly<Record<string, Calls>>) =>
  createMinute(
    0,
    Object.entries(byName).map(([name, { ms, errors = 0 }]) => ({ name, errors, ns: ms.map((each) => each * 1e6) })),
  );

const times = (count: number, ms: number) => ({ ms: Array.from({ length: count }, () => ms) });
const RULES = [{ name: 'E.Boiler.*', p95: '500ms', errors: 0.1 }];

async function openWithRules() {
  const alerts = { rules: RULES, webhook: { url: 'http://127.0.0.1/' } };
  const { channel, pass, endMinute } = await openAlerts({ alerts });
  const minute = async (byName: Readonly<Record<string, Calls>>) => {
    endMinute(minuteOf(byName));
    await pass(60);
  };
  return { channel, minute };
}

it('begins above a limit, ends below nine tenths of it, and is silent about names that no rule has', async () => {
  const { channel, minute } = await openWithRules();
  await minute({ 'E.Boiler.Start': times(10, 490), 'P.Other': times(10, 5_000), '': times(10, 5_000) });
  await minute({ 'E.Boiler.Start': times(4, 900) });
  expect(channel.events).toEqual([]);
  await minute({ 'E.Boiler.Start': times(10, 100), 'E.Boiler.Stop': times(10, 800) });
  await minute({ 'E.Boiler.Start': times(10, 470) });
  expect(channel.events).toEqual(['begins threshold']);
  await minute({ 'E.Boiler.Start': times(10, 440) });
  expect(channel.events).toEqual(['begins threshold', 'ends threshold']);
  const [begins] = channel.got;
  expect(begins).toMatchObject({
    ...{ subject: 'server', name: 'E.Boiler.*', url: 'http://127.0.0.1:9280/#/smartWeb/rpc' },
    text: 'The server: E.Boiler.* passed a limit of alerts.rules in the last minute: its p95 was 800 ms, at most 500 ms is set.',
  });
});

it('errors; and it is over after five minutes with too few calls', async () => {
  const { channel, minute } = await openWithRules();
  await minute({ 'E.Boiler.Start': { ...times(8, 10), errors: 2 } });
  expect(channel.got[0]?.text).toContain('20 % of its calls failed (2 of 10), at most 10 % is set.');
  for (let quiet = 0; quiet < 4; quiet += 1) await minute({});
  expect(channel.events).toEqual(['begins threshold']);
  await minute({});
  expect(channel.events).toEqual(['begins threshold', 'ends threshold']);
});

it.each([
  [{ mail: { to: ['a@b.example'] } }, 'alerts.mail.smtp: missing, required with alerts.mail.to'],
  [{ webhook: { secretFile: '/etc/x' } }, 'alerts.webhook.url: missing, required with alerts.webhook.secretFile'],
  [{ rules: [{ name: 'E.*', p95: '1s' }] }, 'alerts.rules: nobody gets these messages'],
])('%j is refused', (alerts, line) => {
  expect(
    findConflicts(configSchema.parse({ upstream: { url: 'http://a:1/b' }, alerts })).map((one) => one.line),
  ).toEqual(expect.arrayContaining([expect.stringContaining(line)]));
});

it.each([
  ['smtp://mail.example.org', { host: 'mail.example.org', port: 25, isTls: false }],
  ['smtps://[::1]', { host: '::1', port: 465, isTls: true }],
])('%s is a mail server', (smtp, server) => {
  expect(alertsConfig({ mail: { smtp } }).mail.smtp).toBe(smtp);
  expect(parseMailServer(smtp)).toEqual(server);
});

it.each(['smtp://user:pw@mail', 'http://mail', 'smtp://mail:0'])('%s is no mail server', (smtp) => {
  expect(() => alertsConfig({ mail: { smtp } })).toThrow();
});
