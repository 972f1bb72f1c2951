/** A whole sidecar: it pushes what it shows, each call has its span, and traces connect. */
import type http from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '../../../../src/config/config.ts';
import type { Sidecar } from '../../../../src/sidecar/sidecar.ts';
import { OtlpReceiver } from '../../../support/export/otlp/otlp-receiver.ts';
import { basic } from '../../../support/monitor/access/access-files.ts';
import { type Application, send as sendTo, startApplication } from '../../../support/net.ts';
import { get, type Stand, startStand } from '../../../support/wire/stand.ts';
import { type OtlpConfig, otlpConfig } from './stand.ts';

const BASE = '/smartWeb/api/rest/v0';
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const SPANS = { enabled: true, sampleRatio: 1, slowerThanMs: 0 };

let upstream: Application;
let receiver: OtlpReceiver;
let stand: Stand | undefined;
/** Heads as received by the upstream. */
const heads: string[][] = [];

beforeEach(async () => {
  heads.length = 0;
  receiver = await OtlpReceiver.listen();
  upstream = await startApplication(({ rawHeaders, url }, response) => {
    heads.push(rawHeaders);
    response.writeHead(url?.includes('Bad') ? 500 : 200).end('{}');
  });
});

afterEach(async () => {
  await stand?.close();
  upstream.close();
  await receiver.close();
});

async function start(
  otlp: Partial<OtlpConfig>,
  deadlineMs = 5_000,
  listening: Partial<Config['listen']> = {},
): Promise<Sidecar> {
  await stand?.close();
  stand = await startStand({
    upstreamPort: upstream.port,
    config: ({ listen, stop }) => ({
      ...{ otlp: otlpConfig(otlp), stop: { ...stop, deadlineMs } },
      listen: { ...listen, ...listening },
    }),
  });
  return stand.sidecar;
}

async function send(path: string, headers: http.OutgoingHttpHeaders = {}, port = stand?.port ?? 0): Promise<string> {
  const method = path.includes('/d2/rpc/') ? 'POST' : 'GET';
  return (await sendTo(port, path, { method, headers })).body;
}

const scrape = () => send('/metrics', { accept: 'application/openmetrics-text; version=1.0.0' }, stand?.monitorPort);

const traceContextOf = (head: readonly string[]) =>
  head.flatMap((name, i) => (i % 2 === 0 && /^trace/i.test(name) ? [[name, head[i + 1]]] : []));

describe('a sidecar with OTLP', () => {
  it('forwards trace context unchanged without spans, and also for requests without a span', async () => {
    const states = ['plant=a:1,  other=2', 'third=%20'];
    const sent = { TraceParent: `00-${TRACE}-${PARENT}-01`, tracestate: states };
    const seen = [['TraceParent', sent.TraceParent], ...states.map((state) => ['tracestate', state])];
    await start({});
    await send(`${BASE}/d2/rpc/E.Demo/Test`, sent);
    await send('/page', { traceparent: 'not one', tracestate: '' });
    await start({ endpoint: receiver.endpoint, traces: SPANS });
    await send('/page', sent);
    await start({ endpoint: receiver.endpoint, traces: { ...SPANS, slowerThanMs: 1 } });
    await send(`${BASE}/d2/rpc/E.Demo/Test`, sent);
    await send(`${BASE}/d2/rpc/E.Demo/Test`);
    const unread = Object.entries({ traceparent: 'not one', tracestate: '' });
    expect(heads.map(traceContextOf)).toEqual([seen, unread, seen, seen, []]);
  });

  it('forwards an unsampled trace unchanged, and replaces lines that name none by one of its own', async () => {
    await start({ endpoint: receiver.endpoint, traces: SPANS });
    const unsampled = `00-${TRACE}-${PARENT}-00`;
    const states = ['plant=a:1,  other=2', 'third=%20'];
    await send(`${BASE}/d2/rpc/E.Demo/Test`, { traceparent: unsampled, tracestate: states });
    await send(`${BASE}/d2/rpc/E.Demo/Test`, { traceparent: ['not one', `${unsampled}-`], tracestate: states });
    await stand?.close();
    const [span] = receiver.spans;
    expect(receiver.spans).toHaveLength(1);
    const own = `00-${span?.traceId}-${span?.spanId}-01`;
    const sent = states.map((state) => ['tracestate', state]);
    expect(heads.map(traceContextOf)).toEqual([unsampled, own].map((parent) => [['traceparent', parent], ...sent]));
  });

  it('pushes a span for each call when it stops, which the server and the exemplars name, and none for other requests', async () => {
    const running = await start({ endpoint: receiver.endpoint, traces: SPANS });
    const secret = { authorization: basic('alice', 's3cr3t'), cookie: 'JSESSIONID=s3cr3t' };
    await send(`${BASE}/d2/rpc/E.Demo/Test?token=s3cr3t`, { ...secret, traceparent: `00-${TRACE}-${PARENT}-01` });
    await send(`${BASE}/d2/rpc/E.Demo/Bad`, secret);
    await send(`${BASE}/d2/object/H.Pump`, secret);
    await send(`${BASE}/d2/rpc/E.Demo/Unsampled`, { traceparent: `00-${TRACE}-${PARENT}-00` });
    await send('/page?s3cr3t', secret);
    const exposition = await scrape();
    await running.stop();
    const { spans } = receiver;
    expect(spans.map(({ name, status, kind }) => [name, status, kind])).toEqual([
      ['rpc E.Demo.Test', 0, 2],
      ['rpc E.Demo.Bad', 2, 2],
      ['object H.Pump', 0, 2],
    ]);
    expect(spans[0]).toMatchObject({ traceId: TRACE, parentSpanId: PARENT });
    expect(spans[1]).toMatchObject({ parentSpanId: '' });
    // The server's own spans are below these.
    const traceparents = heads.map((head) => head[head.indexOf('traceparent') + 1]);
    expect(traceparents.slice(0, 2)).toEqual(spans.slice(0, 2).map((span) => `00-${span.traceId}-${span.spanId}-01`));
    const exemplar = `# {trace_id="${TRACE}",span_id="${spans[0]?.spanId}"}`;
    expect(exposition).toMatch(/^d2_call_duration_seconds_bucket.* # /m);
    expect(exposition).toContain(exemplar);
    const bodies = Buffer.concat(receiver.received.map(({ body }) => body)).toString('latin1');
    for (const word of ['s3cr3t', 'alice']) expect(bodies).not.toContain(word);
  });

  it('has the client behind a proxy in spans, but in no metric', async () => {
    const listen = { trustedProxies: ['127.0.0.1'], clientAddress: 'proxy-protocol' } as const;
    const running = await start({ endpoint: receiver.endpoint, traces: SPANS }, 5_000, listen);
    const client = await (stand as Stand).connect();
    client.socket.write(`PROXY TCP4 203.0.113.8 10.0.0.1 50412 443\r\n${get(`${BASE}/d2/object/H.Pump`)}`);
    await client.until('{}');
    client.socket.end();
    await running.stop();
    expect(receiver.spans.map(({ attributes }) => attributes['client.address'])).toEqual(['203.0.113.8']);
    const metrics = receiver.received.filter(({ path }) => path === '/v1/metrics').map(({ body }) => body);
    expect(String(metrics)).toContain('H.Pump');
    expect(String(metrics)).not.toContain('203.0.113');
  });
});

it('a silent receiver delays neither calls nor the stop', async () => {
  receiver.answer = () => undefined;
  const metrics = { enabled: true, intervalMs: 10, histograms: 'explicit' } as const;
  const otlp = { endpoint: receiver.endpoint, timeoutMs: 60_000, traces: SPANS, metrics };
  const running = await start(otlp, 300);
  await receiver.until(() => receiver.received.length > 0);
  for (let i = 0; i < 20; i += 1) expect(await send(`${BASE}/d2/rpc/E.Demo/Test`)).toBe('{}');
  await running.stop();
  expect(running.reporter.observerErrors).toBe(0);
});

it('pushes the durations of calls as exponential histograms of one scale, if configured', async () => {
  const metrics = { enabled: true, intervalMs: 30, histograms: 'exponential' } as const;
  await start({ endpoint: receiver.endpoint, metrics });
  for (const name of ['Test', 'Test', 'Bad']) await send(`${BASE}/d2/rpc/E.Demo/${name}`);
  const count = receiver.received.length;
  await receiver.until(() => receiver.received.length > count + 3);
  const found = receiver.metrics.filter(({ name }) => name === 'd2_call_duration_seconds').at(-1);
  expect(found).toMatchObject({ kind: 'exponential', temporality: 2, unit: 's' });
  const point = found?.points.find(({ attributes }) => attributes.name === 'E.Demo.Test');
  expect(point?.value).toMatchObject({ count: 2, scale: 4 });
  const { offset, sum } = (point?.value ?? {}) as { offset: number; sum: number };
  // The first bucket has the faster call.
  expect(2 ** (offset / 16)).toBeLessThan(sum);
  const exposition = await scrape();
  expect(exposition).toContain(
    'd2_call_duration_seconds_bucket{application="smartWeb",kind="rpc",name="E.Demo.Test",le="60.0"} 2',
  );
});
