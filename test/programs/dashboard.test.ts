/** Exposition, dashboard and rules on a real Prometheus: every query returns data, every rule finds its series. Needs `prometheus`. */
import { spawnSync } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CometUsers } from '../../src/demo/comet-users.ts';
import { SampleControlSystem } from '../../src/demo/control-system.ts';
import { SampleUsers } from '../../src/demo/users.ts';
import { NO_SQLITE } from '../support/archive/minutes.ts';
import { deferTo, temporaryFolder } from '../support/deferred.ts';
import { OtlpReceiver } from '../support/export/otlp/otlp-receiver.ts';
import { queriesOf, readDashboard, substituted } from '../support/grafana/dashboard.ts';
import { Folder, tokenLine } from '../support/monitor/access/access-files.ts';
import { samplesOf } from '../support/monitor/prometheus/samples.ts';
import { portOf, send, startApplication } from '../support/net.ts';
import type { PrometheusApi } from '../support/prometheus/prometheus-api.ts';
import { RULES_PATH, readRules, writeQuickRules } from '../support/prometheus/rules-file.ts';
import { type SidecarProcess, startConfigured } from '../support/sidecar-process.ts';
import { CertificateFolder } from '../support/tls/certificates.ts';
import { hasPrometheus, startPrometheus } from './prometheus-server.ts';

const WAIT = { timeout: 30_000, interval: 500 };
/** Dozens of calls fit between two scrapes. */
const PACE = { pauseMs: 25 };
const JVM_FIXTURE = new URL('../fixtures/jvm/http/prometheus/client-java-1.txt', import.meta.url);
/** As Grafana sets them: four scrape intervals, and the displayed time range. */
const VARIABLES = {
  ...{ job: 'd2-sidecar', site: '.*', instance: '.+', application: '.+' },
  ...{ __rate_interval: '4s', __range: '30s' },
};
/** Rules that need a day of data; test/programs/prometheus/rules/week.yml provides it. */
const NEEDS_A_DAY = 'application_kind:d2_call_duration_seconds:p99_30m_week';

/** Only for a server on this machine, or for calls that hang: see hanging.test.ts and rules/server.yml. */
const NEEDS_TROUBLE =
  /^d2_(?:calls_hung|server_(?:cpu_seconds_total|deadlocked_threads|(?:max|open)_fds|processors|threads_(?:busy|max))|sidecar_verdict_info\{code="[a-z-]+"\})$/;
const OF_HISTORY = /^d2_sidecar_history_/;
const OF_LOCAL_SERVER = /\bd2_(?:calls_hung|server_)/;

/** Characters that need escaping in one of the formats. */
const ODD = `E.Größe/1 "€" 😀, {x='y'}\\n \n\r\t\u0000`;

/** The complaints of `promtool check metrics` about a text; empty if none. */
function promtoolComplaints(text: string): string {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
  return status === 0 ? `${stdout}${stderr}` : `exit code ${status}: ${stdout}${stderr}`;
}

/** With continuing collections: ten a second of each collector, of 2.5 ms. */
function toJvmPage(): string {
  const count = Math.round(performance.now() / 100);
  return readFileSync(JVM_FIXTURE, 'utf8')
    .replace(/^(jvm_gc_collection_seconds_count\{.*\}) .*$/gm, `$1 ${count}`)
    .replace(/^(jvm_gc_collection_seconds_sum\{.*\}) .*$/gm, `$1 ${count / 400}`);
}

/** Every selector of an expression, e.g. `up{job="d2-sidecar"}`; those of recording rules have a colon. */
function selectorsOf(expr: string): string[] {
  return [...expr.matchAll(/\b(?:up|(?:d2|jvm|process)_\w+|\w+:\w+(?::\w+)?)\b(?:\{.*?\})?/g)].map(([text]) => text);
}

describe.runIf(hasPrometheus)('a real Prometheus that scrapes real sidecars', { timeout: 40_000 }, () => {
  const defer = deferTo(afterAll);
  const { line, token } = tokenLine('prometheus', 'metrics');
  const sidecars: SidecarProcess[] = [];
  const leaving = new AbortController();
  // Each user and each request under way adds a listener.
  setMaxListeners(0, leaving.signal);
  // Its calls take no time of their own.
  const system = new SampleControlSystem({ slowness: 0.02 });
  let users: Promise<unknown> | undefined;
  let stopped: Promise<void> | undefined;
  let prometheus: PrometheusApi;
  let receiver: OtlpReceiver;

  beforeAll(async () => {
    const folder = new Folder(defer);
    const certificates = new CertificateFolder(temporaryFolder(defer));
    const monitor = { auth: { tokensFile: folder.write('tokens', line) } };
    const origin = `http://127.0.0.1:${await system.start(0)}`;
    defer(stopSystem);
    const exporter = await startApplication((_request, response) => response.end(toJvmPage()), defer);
    receiver = await OtlpReceiver.listen();
    defer(() => receiver.close());
    const start = (config: object) => startConfigured(defer, `${origin}/smartWeb`, { monitor, ...config });
    const own = certificates.signed(certificates.authority(), { name: 'plant' });
    sidecars.push(
      await start({
        jvm: {
          source: 'http',
          interval: '1s',
          timeout: '900ms',
          http: { kind: 'prometheus', url: `http://127.0.0.1:${exporter.port}/metrics` },
        },
        state: { file: `${folder.path}/state`, interval: '500ms' },
        history: { file: `${folder.path}/history.db` },
        accessLog: { file: `${folder.path}/access.log` },
        alerts: { webhook: { url: `http://127.0.0.1:${exporter.port}/hook` } },
        otlp: {
          ...{ endpoint: receiver.endpoint, timeout: '900ms', metrics: { interval: '1s' } },
          traces: { enabled: true, sampleRatio: 0.1 },
        },
      }),
      // A single call: for the TLS series, and a name with odd characters.
      await start({
        upstream: { url: `http://127.0.0.1:${exporter.port}/smartWeb` },
        jvm: { source: 'none' },
        listen: { tls: own },
      }),
    );
    const [first, second] = sidecars as [SidecarProcess, SidecarProcess];
    const odd = `/smartWeb/api/rest/v0/d2/sba/E.Odd/${encodeURIComponent(ODD)}`;
    await send(portOf(second.listen), odd, { protocol: 'https:', rejectUnauthorized: false });
    const baseUrl = `http://${first.listen}/smartWeb`;
    const all = [new SampleUsers({ baseUrl, ...PACE }), new CometUsers({ baseUrl, ...PACE })];
    users = Promise.all(all.map((each) => each.run(leaving.signal)));
    const targets = sidecars.map((sidecar) => sidecar.monitor);
    prometheus = await startPrometheus(defer, targets, token, writeQuickRules(folder.path, RULES_PATH));
  }, 60_000);

  /** The users leave first. */
  async function stopSystem(): Promise<void> {
    leaving.abort();
    await users;
    stopped ??= system.stop();
    await stopped;
  }

  it('scrapes without an error, by the role metrics, in OpenMetrics, the only format with the type info', async () => {
    await expect.poll(() => prometheus.value('sum(up{job="d2-sidecar"})'), WAIT).toBe(2);
    expect(await prometheus.lastError()).toBe('');
    expect(await prometheus.typeOf('d2_sidecar_build')).toBe('info');
    expect(await prometheus.typeOf('d2_calls')).toBe('counter');
    expect(await prometheus.value('min(process_resident_memory_bytes)')).toBeGreaterThan(20e6);
    expect(await prometheus.value('min(time() - process_start_time_seconds)')).toBeGreaterThan(0);
    expect((await fetch(`http://${sidecars[0]?.monitor}/metrics`)).status).toBe(401);
  });

  it('returns data for every query of the dashboard', async () => {
    const all = queriesOf(readDashboard()).map(({ expr }) => substituted(expr, VARIABLES));
    const queries = all.filter((query) => !OF_LOCAL_SERVER.test(query));
    expect(queries.length).toBeGreaterThan(60);
    await expect.poll(() => prometheus.withoutData(queries), WAIT).toEqual([]);
    // Of native histograms Debian's Prometheus scrapes none, but it knows whether they can be queried so.
    for (const { expr } of queriesOf(readDashboard(), 'native')) await prometheus.query(substituted(expr, VARIABLES));
  });

  it('stores the trace of a sampled call as an exemplar', async () => {
    const stored = () => prometheus.traceIds('d2_call_duration_seconds_bucket{kind="rpc"}');
    await expect.poll(stored, WAIT).not.toEqual([]);
    const [traceId] = await stored();
    await expect.poll(() => receiver.spans.map((span) => span.traceId), WAIT).toContain(traceId);
  });

  it('gets an exposition that promtool accepts', async () => {
    for (const { monitor } of sidecars) {
      const answer = await send(portOf(monitor), '/metrics', { headers: { authorization: `Bearer ${token}` } });
      expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
      expect(samplesOf(answer.body).size).toBeGreaterThan(100);
      expect(promtoolComplaints(answer.body)).toBe('');
    }
  });

  it('returns values for every variable of the dashboard', async () => {
    const asked = readDashboard().templating.list.flatMap((variable) =>
      variable.type === 'query' ? [[variable.name, variable.query.query] as const] : [],
    );
    const found = asked.map(async ([name, query]) => {
      const [, match = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(query) ?? [];
      return [name, await prometheus.labelValues(label, substituted(match, VARIABLES))];
    });
    expect(await Promise.all(found)).toEqual([
      ['job', ['d2-sidecar']],
      // Without the label in the targets.
      ['site', []],
      ['instance', sidecars.map(({ monitor }) => monitor).sort()],
      ['application', ['smartWeb']],
    ]);
  });

  it('has every series that a rule reads', async () => {
    const selectors = [...new Set(readRules().flatMap(({ expr }) => selectorsOf(expr)))];
    expect(selectors.length).toBeGreaterThan(40);
    const isElsewhere = (selector: string) => NEEDS_TROUBLE.test(selector) || (NO_SQLITE && OF_HISTORY.test(selector));
    const missing = async () => (await prometheus.withoutData(selectors)).filter((selector) => !isElsewhere(selector));
    await expect.poll(missing, WAIT).toEqual([NEEDS_A_DAY]);
  });

  it('evaluates every rule without an error', async () => {
    await expect.poll(() => prometheus.unwellRules(), WAIT).toEqual([]);
    expect(await prometheus.rules()).toHaveLength(readRules().length);
  });

  it('has a pending alert when the application server is gone', async () => {
    await stopSystem();
    const { listen } = sidecars[0] as SidecarProcess;
    const status = async () => {
      await fetch(`http://${listen}/smartWeb/`).then((answer) => answer.arrayBuffer());
      return (await prometheus.rules()).find(({ name }) => name === 'D2UpstreamDown')?.state;
    };
    await expect.poll(status, WAIT).toBe('pending');
  });
});
