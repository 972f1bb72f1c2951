/** A receiver of OTLP over HTTP: a server that decodes requests, and answers or misbehaves as the test says. */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { escapeLabelValue } from '../../../../src/monitor/prometheus/exposition.ts';
import { type Metric, type Span, toMetrics, toSpans } from './wire-decoder.ts';

export interface Received {
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

export type Answer = (response: http.ServerResponse, request: Received) => void;

/** Success: an empty message. */
export const accept: Answer = (response) => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();

/** ExportMetricsPartialSuccess and ExportTracePartialSuccess: 1 is the count, 2 the text. */
export function acceptBut(rejected: number, text: string): Answer {
  const inner = Buffer.concat([Buffer.from([0x08, rejected, 0x12, text.length]), Buffer.from(text)]);
  const body = Buffer.concat([Buffer.from([0x0a, inner.length]), inner]);
  return (response) => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end(body);
}

export const status =
  (code: number, headers: http.OutgoingHttpHeaders = {}): Answer =>
  (response) =>
    response.writeHead(code, headers).end('the receiver repeats s3cr3t');

export class OtlpReceiver {
  readonly received: Received[] = [];
  readonly #server: http.Server;
  answer: Answer = accept;
  readonly port: number;

  private constructor(server: http.Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on('request', (request: http.IncomingMessage, response: http.ServerResponse) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('error', () => undefined);
      request.on('end', () => {
        const received = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) };
        this.received.push(received);
        this.answer(response, received);
        server.emit('received');
      });
    });
  }

  static async listen(server: http.Server = http.createServer(), port = 0): Promise<OtlpReceiver> {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return new OtlpReceiver(server);
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Resolves at the first request after which `isEnough`. */
  async until(isEnough: () => boolean): Promise<void> {
    while (!isEnough()) await once(this.#server, 'received');
  }

  get metrics(): Metric[] {
    return this.#of('/v1/metrics').flatMap((body) => toMetrics(body).metrics);
  }

  get spans(): Span[] {
    return this.#of('/v1/traces').flatMap(toSpans);
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #of(path: string): Buffer[] {
    return this.received.filter((one) => one.path.endsWith(path)).map(({ body }) => body);
  }
}

/** Metrics as samples of `/metrics`, e.g. `d2_calls_total{outcome="ok"}` => 4. A series that comes twice throws. */
export function toSamples(metrics: readonly Metric[]): Map<string, number> {
  const samples = new Map<string, number>();
  const add = (name: string, pairs: string, value: number): void => {
    const key = pairs === '' ? name : `${name}{${pairs}}`;
    if (samples.has(key)) throw new Error(`${key} came twice`);
    samples.set(key, value);
  };
  for (const { name, points } of metrics) {
    for (const { attributes, value } of points) {
      const pairs = Object.entries(attributes).map(([label, of]) => `${label}="${escapeLabelValue(String(of))}"`);
      if (typeof value === 'number') add(name, pairs.join(','), value);
      // Exponential ones are not in /metrics.
      else if ('counts' in value) {
        let cumulative = 0;
        for (const [i, count] of value.counts.entries()) {
          cumulative += count;
          const bound = value.bounds[i];
          const le = bound === undefined ? '+Inf' : Number.isInteger(bound) ? `${bound}.0` : String(bound);
          add(`${name}_bucket`, [...pairs, `le="${le}"`].join(','), cumulative);
        }
        add(`${name}_sum`, pairs.join(','), value.sum);
        add(`${name}_count`, pairs.join(','), value.count);
      }
    }
  }
  return samples;
}
