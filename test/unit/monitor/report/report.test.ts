import { expect, it } from 'vitest';
import { LogRing } from '../../../../src/base/logger.ts';
import type { Config } from '../../../../src/config/config.ts';
import type { SessionEntry } from '../../../../src/measure/sessions/session.ts';
import { createReport, type ReportSources } from '../../../../src/monitor/report/report.ts';
import { createPlant, MS } from '../../../support/monitor/prometheus/plant.ts';
import { testConfig } from '../../../support/wire/test-config.ts';

interface Report {
  readonly [part: string]: unknown;
  readonly configuration: Config;
  readonly statistics: Readonly<Record<string, { readonly timers: Readonly<Record<string, { count: number }>> }>>;
  readonly sessions: Readonly<Record<string, { readonly list: readonly SessionEntry[]; readonly omitted: number }>>;
  readonly metrics: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
}

async function textOf(sources: ReportSources, hasUsers: boolean): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of await createReport(sources, hasUsers)) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

async function reportOf(change: Partial<ReportSources> = {}, hasUsers = false): Promise<Report> {
  const plant = await createPlant();
  const { monitored, clock } = plant;
  const text = await textOf({ config: testConfig(), monitored, log: undefined, clock, ...change }, hasUsers);
  expect(text.indexOf('\n')).toBe(text.length - 1);
  return JSON.parse(text) as Report;
}

async function plantWithSessions(count: number) {
  const plant = await createPlant();
  for (let i = 0; i < count; i += 1) {
    const origin = { connectionType: 'REST', remoteAddress: '10.0.0.7', atNs: plant.clock.ns, creationNs: 1 } as const;
    plant.monitored.applications[0]?.sessions.begin('anna', `token ${i}`, { userName: 'anna', ...origin });
  }
  return plant;
}

it('a report has all of its parts', async () => {
  const report = await reportOf();
  expect(Object.keys(report)).toEqual([
    ...'report time hasUsers versions system process configuration state verdicts log jvm'.split(' '),
    ...['metrics', 'statistics', 'sessions', 'unclassified'],
  ]);
  expect(report).toMatchObject({
    ...{ report: 1, hasUsers: false, versions: { sidecar: '1.2.3', node: process.versions.node } },
    state: { lifecycle: 'starting', upstream: 'unknown', upstreamFailures: { D2S_ERR_UPSTREAM_REFUSED: 0 } },
    jvm: { state: 'available', source: 'hsperfdata', reads: 5, failures: 1 },
  });
});

it('a report has the statistics as Dropwizard JSON, and the metrics of bounded length', async () => {
  const plant = await createPlant();
  plant.statistics.rpc.recordAnswered('E.Demo.Test', 200, 5 * MS, 5 * MS);
  const { statistics, metrics } = await reportOf({ monitored: plant.monitored, clock: plant.clock });
  expect(statistics.smartWeb?.timers['rpc.E.Demo.Test']?.count).toBe(1);
  expect(metrics.d2_sidecar_limit_hits_total).toContainEqual({ limit: 'limits.fields', value: 0 });
  expect(metrics.d2_sessions).toContainEqual({ application: 'smartWeb', connection_type: 'REST', value: 0 });
  expect(Object.keys(metrics)).not.toContain('d2_calls_total');
  expect(metrics.d2_sidecar_loop_delay_seconds?.[0]).toMatchObject({ sum: 0 });
});

it('a report names users and addresses only on request', async () => {
  const plant = await plantWithSessions(1);
  const http = { kind: 'jolokia', url: 'https://h/j', username: 'ann-of-jvm', passwordFile: '/run/p' } as const;
  const certificates = [{ name: 'ann-of-tls', role: 'metrics' } as const];
  const auth = { usersFile: '/run/u', tokensFile: undefined, certificates };
  const base = testConfig();
  const config: Config = {
    ...base,
    sessions: { ...base.sessions, apiKeys: [{ user: 'ann-of-key', key: 's3cr3t' }] },
    jvm: { ...base.jvm, http: { ...http, passwordEnv: undefined, serverName: undefined, caFile: undefined } },
    monitor: { ...base.monitor, auth },
  };
  const sources = { ...plant, config, log: undefined };
  const texts = await Promise.all([false, true].map((hasUsers) => textOf(sources, hasUsers)));
  for (const name of ['anna', '10.0.0.7', 'ann-of-key', 'ann-of-jvm', 'ann-of-tls']) {
    expect(texts.map((text) => text.includes(name))).toEqual([false, true]);
  }
  for (const text of texts) expect(text).not.toContain('s3cr3t');
  const [hidden] = texts.map((text) => JSON.parse(text) as Report);
  expect(hidden?.sessions.smartWeb?.list).toEqual([expect.objectContaining({ connectionType: 'REST', requests: 0 })]);
  // The configuration of the sidecar itself is as it was.
  expect(config.sessions.apiKeys[0]?.user).toBe('ann-of-key');
});

it('a report lists at most a thousand sessions, and counts those it omits', async () => {
  const plant = await plantWithSessions(1_003);
  const { sessions } = await reportOf({ monitored: plant.monitored });
  expect(sessions.smartWeb).toMatchObject({ omitted: 3 });
  expect(sessions.smartWeb?.list).toHaveLength(1_000);
});

const line = (i: number, level = 'warn') => `{"level":"${level}","i":${i}}\n`;
const numbersOf = (ring: LogRing) => ring.lines.map((text) => (JSON.parse(text) as { i: number }).i);

it('the ring of log lines keeps warnings and errors only, the last 200 of them in order', () => {
  const ring = new LogRing();
  for (let i = 0; i < 455; i += 1) {
    ring.add(line(i, i % 2 === 0 ? 'warn' : 'error'));
    ring.add(line(-1, 'info'));
    if (i < 200) expect(ring.lines).toHaveLength(i + 1);
  }
  expect(numbersOf(ring)).toEqual(Array.from({ length: 200 }, (_, i) => 255 + i));
  expect(ring.dropped).toBe(255);
});

it('the ring of log lines cuts a long line so that it stays JSON', () => {
  const ring = new LogRing();
  ring.add(`{"level":"warn","msg":"${'"'.repeat(100_000)}"}\n`);
  expect((JSON.parse(ring.lines[0] ?? '') as string).length).toBeLessThan(5_000);
});
