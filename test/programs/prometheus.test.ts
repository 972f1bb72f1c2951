/** A real Prometheus scrapes a real sidecar: its query results must equal what the clients sent. Needs Debian's `prometheus`. */
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startConfigured } from '../support/configured-sidecar.ts';
import { deferTo } from '../support/deferred.ts';
import { basic, Folder, tokenLine } from '../support/monitor/access/access-files.ts';
import { createPlant, MS } from '../support/monitor/prometheus/plant.ts';
import { samplesOf } from '../support/monitor/prometheus/samples.ts';
import { listening } from '../support/net.ts';
import type { SidecarProcess } from '../support/sidecar-process.ts';
import { hasPrometheus, type PrometheusServer, startPrometheus } from './prometheus-server.ts';

const REST = '/smartWeb/api/rest/v0/d2';
const SLOW_MS = 130;
/** Characters that need escaping in one of the formats. */
const ODD = `E.Größe/1 "€" 😀, {x='y'}\\n \n\r\t\u0000`;
const WAIT = { timeout: 15_000, interval: 250 };

/** The complaints of `promtool check metrics` about a text; empty if none. */
function promtoolComplaints(text: string): string {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
  return status === 0 ? `${stdout}${stderr}` : `exit code ${status}: ${stdout}${stderr}`;
}

describe.runIf(hasPrometheus)('a real Prometheus', () => {
  const defer = deferTo(afterAll);
  const metricsToken = tokenLine('prometheus', 'metrics');
  let sidecar: SidecarProcess;
  let prometheus: PrometheusServer;

  beforeAll(async () => {
    const folder = new Folder();
    defer(() => folder.remove());
    const upstream = createServer(({ url = '' }, response) => {
      response.statusCode = url.includes('Fail') ? 500 : url.includes('Missing') ? 404 : 200;
      setTimeout(() => response.end('ok'), url.includes('Slow') ? SLOW_MS : 0);
    });
    defer(() => upstream.close());
    sidecar = await startConfigured(defer, `http://127.0.0.1:${await listening(upstream)}/smartWeb`, {
      monitor: { auth: { tokensFile: folder.write('tokens', metricsToken.line) } },
      jvm: { source: 'none' },
    });
    await sendCalls(sidecar.listen);
    prometheus = await startPrometheus(defer, [sidecar.monitor], metricsToken.token);
    await vi.waitFor(async () => expect(await prometheus.value('up{job="d2-sidecar"}')).toBe(1), WAIT);
  });

  async function call(at: string, path: string, user?: string): Promise<void> {
    const headers = user === undefined ? {} : { authorization: basic(user, 'secret') };
    const method = path.startsWith('/rpc') ? 'POST' : 'GET';
    const { body } = await request(`http://${at}${REST}${path}`, { method, headers });
    await body.dump();
  }

  async function sendCalls(at: string): Promise<void> {
    for (const user of ['ann', 'bob', 'ann']) await call(at, '/rpc/E.Demo/Quick', user);
    for (let i = 0; i < 4; i += 1) await call(at, '/rpc/E.Demo/Slow');
    await call(at, '/rpc/E.Demo/Fail');
    await call(at, '/rpc/E.Demo/Missing');
    await call(at, `/sba/E.Odd/${encodeURIComponent(ODD)}`);
    for (const name of ['H.Level', 'H.Level', 'H.Temp']) await call(at, `/object/${name}`);
  }

  it('scrapes without an error, with the role metrics', async () => {
    expect(await prometheus.lastError()).toBe('');
    expect(await prometheus.value('scrape_samples_scraped')).toBeGreaterThan(100);
    expect((await request(`http://${sidecar.monitor}/metrics`)).statusCode).toBe(401);
  });

  it('returns the calls that the clients sent', async () => {
    for (const [promql, expected] of Object.entries({
      'sum by (kind) (d2_calls_total{kind="rpc"})': 9,
      'sum(d2_calls_total{kind="rpc", outcome="ok"})': 7,
      'sum(d2_calls_total{kind="rpc", name="", outcome="client_error"})': 1,
      'd2_object_values_total{application="smartWeb", name="H.Level"}': 2,
      'd2_sessions{connection_type="REST"}': 2,
      d2_session_creation_duration_seconds_count: 2,
      'd2_sidecar_exchanges_total{path="relay", ending="completed"}': 13,
      // Sampled one in 17.
      'd2_sidecar_added_seconds_count{direction="request"}': 1,
      'd2_sidecar_added_seconds_count{direction="response"}': 1,
      'd2_call_duration_seconds_bucket{name="E.Demo.Slow", le="0.1"}': 0,
      'd2_call_duration_seconds_bucket{name="E.Demo.Slow", le="+Inf"}': 4,
      d2_upstream_reachable: 1,
      'count({__name__=~"jvm_.*|d2_sidecar_jvm_.*"}) or vector(0)': 0,
    })) {
      expect([promql, await prometheus.value(promql)]).toEqual([promql, expected]);
    }
    expect(await prometheus.lastError()).toBe('');
  });

  it('has every name as the client sent it, except for control characters', async () => {
    const series = await prometheus.query('d2_calls_total{kind="sba", outcome="ok", name!=""}');
    const shown = `E.Odd.${ODD.replace(/\p{Cc}/gu, '\ufffd')}`;
    expect(series.map(({ labels, value }) => [labels.name, value])).toEqual([[shown, 1]]);
  });

  it('negotiated OpenMetrics, the only format with the type info', async () => {
    expect(await prometheus.typeOf('d2_sidecar_build')).toBe('info');
    expect(await prometheus.typeOf('d2_calls')).toBe('counter');
  });

  it('has the metrics of the process, and sees counters grow', async () => {
    expect(await prometheus.value('process_resident_memory_bytes')).toBeGreaterThan(20e6);
    expect(await prometheus.value('process_open_fds')).toBeGreaterThan(5);
    expect(await prometheus.value('d2_sidecar_loop_delay_seconds_count')).toBeGreaterThan(0);
    expect(await prometheus.value('time() - process_start_time_seconds')).toBeGreaterThan(0);
    await call(sidecar.listen, '/rpc/E.Demo/Quick');
    await expect.poll(() => prometheus.value('d2_calls_total{name="E.Demo.Quick", outcome="ok"}'), WAIT).toBe(4);
  });

  it('gets an exposition that promtool accepts', async () => {
    const headers = { authorization: `Bearer ${metricsToken.token}` };
    const { body, headers: fields } = await request(`http://${sidecar.monitor}/metrics`, { headers });
    expect(fields['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    const text = await body.text();
    expect(samplesOf(text).size).toBeGreaterThan(100);
    expect(promtoolComplaints(text)).toBe('');
  });
});

describe.runIf(hasPrometheus)('promtool', () => {
  it('accepts everything that can be shown, odd names included', async () => {
    const { statistics, text } = await createPlant();
    for (const name of [ODD, 'line\nend\r', '\u0000', '\ud83d', '😀', '(other)', ' ', 'a,b=c']) {
      statistics.rpc.recordAnswered(name, 200, MS);
      statistics.object.recordValue(name);
    }
    expect(promtoolComplaints(text())).toBe('');
  });
});
