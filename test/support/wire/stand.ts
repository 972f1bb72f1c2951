import { once } from 'node:events';
import net from 'node:net';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import type { Config } from '../../../src/config/config.ts';
import { Sidecar } from '../../../src/sidecar/sidecar.ts';
import type { Defer } from '../deferred.ts';
import { readSamples } from '../monitor/prometheus/samples.ts';
import { portOf } from '../net.ts';
import { Peer } from './peer.ts';
import { RawUpstream, type Serve } from './raw-upstream.ts';
import { type LoggedLine, recordingLogger } from './recording-logger.ts';
import { testConfig } from './test-config.ts';

export type Stand = Awaited<ReturnType<typeof startStand>>;

export interface StandOptions {
  readonly onConnection?: Serve | undefined;
  /** Is up already, or down on purpose; the stand brings it down at its end. */
  readonly upstream?: RawUpstream;
  /** Of an upstream of the test's own. */
  readonly upstreamPort?: number;
  readonly config?: (base: Config) => Partial<Config>;
  readonly clock?: Clock | undefined;
}

/** A sidecar in this process in front of an upstream that the test plays by hand. `defer` closes it, if given. */
export async function startStand(options: StandOptions = {}, defer?: Defer) {
  const { onConnection, config, clock = systemClock, upstream = new RawUpstream() } = options;
  if (options.upstream === undefined) await upstream.comeUp(onConnection);
  const base = testConfig();
  const withUpstream = { ...base, upstream: { ...base.upstream, port: options.upstreamPort ?? upstream.port } };
  const { logger, logged } = recordingLogger();
  const sidecar = await Sidecar.create({ ...withUpstream, ...config?.(withUpstream) }, logger, clock);
  const bound = await sidecar.start();
  const [port, monitorPort] = [portOf(bound.listen), portOf(bound.monitor)];
  const clients: net.Socket[] = [];
  /** A client of its own connection; `text` is its first bytes. */
  const client = (text = '') => {
    const peer = new Peer(net.connect({ port, host: '127.0.0.1', allowHalfOpen: true }));
    clients.push(peer.socket);
    if (text !== '') peer.send(text);
    return peer;
  };
  /** A client that is connected. */
  const connect = async () => {
    const peer = client();
    await once(peer.socket, 'connect');
    return peer;
  };
  /** A client that sends this, and the connection that the upstream gets for it. */
  const ask = async (text: string): Promise<[client: Peer, upstream: Peer]> => {
    const peer = await connect();
    const coming = upstream.nextConnection();
    peer.send(text);
    return [peer, new Peer(await coming)];
  };
  /** JSON of the monitoring interface, e.g. `d2/sessions`. */
  const read = async <Answer>(path: string): Promise<Answer> => {
    const answer = await fetch(`http://${bound.monitor}/smartWeb/api/rest/v0/admin/${path}`);
    return (await answer.json()) as Answer;
  };
  const close = async () => {
    for (const socket of clients) socket.destroy();
    await upstream.goDown();
    await sidecar.stop();
  };
  defer?.(close);
  return {
    ...{ sidecar, port, monitorPort, logged: logged as readonly LoggedLine[], client, connect, ask, read, close },
    /** `upstreams`: its connections so far. */
    ...{ upstream, upstreams: upstream.connections as readonly net.Socket[] },
    nextUpstream: () => upstream.nextConnection(),
    samples: () => readSamples(bound.monitor),
  };
}

/** Calls `act` for each head, as soon as it has come; skips the content that it announces. Ends when the other side does. */
export function atHeads(socket: net.Socket, act: (head: string) => void): void {
  let text = '';
  let skipped = 0;
  socket.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1', Math.min(skipped, bytes.length));
    skipped -= Math.min(skipped, bytes.length);
    for (let end = text.indexOf('\r\n\r\n'); end !== -1; end = text.indexOf('\r\n\r\n')) {
      const head = text.slice(0, end + 4);
      const next = end + 4 + Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
      skipped = Math.max(next - text.length, 0);
      text = text.slice(next);
      act(head);
    }
  });
  socket.on('end', () => socket.end());
}

/** Answers each request on the connection with `response` as soon as its head has come. */
export function answering(response: string): (socket: net.Socket) => void {
  return (socket) => atHeads(socket, () => socket.write(response, 'latin1'));
}

export const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

export function get(path: string, fields = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: plant.example\r\n${fields}\r\n`;
}
