/** A fault in 3 of 1,000 sidecars, by the real Prometheus and Alertmanager. Needs `prometheus` and `prometheus-alertmanager`. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { instanceOf, SyntheticFleet } from '../../fleet/sites/synthetic-fleet.ts';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { readRuleGroups } from '../../support/prometheus/rules-file.ts';
import { ALERTMANAGER_PATH, hasAlertmanager, startAlertmanager, startMailbox } from '../alertmanager.ts';
import { hasPrometheus, startPrometheus } from '../prometheus-server.ts';

const WAIT = { timeout: 120_000, interval: 500 };
const COUNT = 1_000;
const FAULTY = [3, 500, 998];
const INTERVAL_S = 10;

describe.runIf(hasAlertmanager)('config/prometheus/alertmanager.yml', () => {
  it('is accepted by amtool', () => {
    const { status, stderr } = spawnSync('amtool', ['check-config', ALERTMANAGER_PATH], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });
});

describe.runIf(hasPrometheus && hasAlertmanager)('1,000 sidecars', { timeout: 240_000 }, () => {
  const defer = deferTo(afterAll);

  it('give one message that names the three whose server takes no connections', async () => {
    const fleet = await SyntheticFleet.start(INTERVAL_S * 1_000);
    defer(() => fleet.stop());
    const mail = await startMailbox(defer);
    // Longer than a scrape and an evaluation, as configured.
    const alertmanager = await startAlertmanager(defer, mail.port, '20s');
    const groups = readRuleGroups().map(({ name, rules }) => ({
      ...{ name, interval: '5s' },
      rules: rules.map((rule) => (rule.for === undefined ? rule : { ...rule, for: '5s' })),
    }));
    const rules = path.join(temporaryFolder(defer), 'rules.yml');
    writeFileSync(rules, stringify({ groups }));
    const targets = fleet.targets({ small: COUNT, full: 0 });
    const options = { intervalS: INTERVAL_S, alertmanager };
    const prometheus = await startPrometheus(defer, targets, 'token', rules, options);
    await vi.waitUntil(async () => (await prometheus.value('sum(up)')) === COUNT, WAIT);
    fleet.plantFault('small', ...FAULTY);
    const both = 'count(ALERTS{alertname=~"D2UpstreamDown|D2VerdictNetwork", alertstate="firing"})';
    await vi.waitUntil(async () => (await prometheus.value(both)) === 2 * FAULTY.length, WAIT);
    await vi.waitUntil(() => mail.messages.length > 0, WAIT);
    // Another message would come by now.
    await new Promise((resolve) => setTimeout(resolve, 25_000));
    const subjects = mail.messages.map((message) => /^Subject: (.*?)\r?$/m.exec(message)?.[1]);
    expect(subjects, mail.messages.join()).toEqual(['D2UpstreamDown: 3 firing, 0 resolved']);
    const [message = ''] = mail.messages;
    const named = [...message.matchAll(/^small-\d+ (\S+): The application server/gm)].map(([, instance]) => instance);
    expect(named.sort()).toEqual(FAULTY.map((number) => instanceOf('small', number)).sort());
  });
});
