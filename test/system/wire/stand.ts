import { once } from 'node:events';
import net from 'node:net';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { createLogger, type Logger } from '../../../src/base/logger.ts';
import type { Config } from '../../../src/config/config.ts';
import { Sidecar } from '../../../src/sidecar/sidecar.ts';
import { readSamples } from '../../support/monitor/prometheus/samples.ts';
import { listening, portOf } from '../../support/net.ts';
import { Peer } from '../../support/wire/peer.ts';
import { testConfig } from '../../support/wire/test-config.ts';

/** A sidecar in this process in front of an upstream whose every connection the test speaks for. */
export interface Stand {
  readonly sidecar: Sidecar;
  readonly port: number;
  readonly monitorPort: number;
  readonly upstreams: readonly net.Socket[];
  nextUpstream(): Promise<net.Socket>;
  connect(): Promise<Client>;
  samples(): Promise<Map<string, number>>;
  /** JSON of the monitoring interface, e.g. `d2/sessions`. */
  read<Answer>(path: string): Promise<Answer>;
  close(): Promise<void>;
}

export interface Client {
  readonly socket: net.Socket;
  received(): string;
  /** Resolves as soon as `text` has been received; rejects when the connection ends before. */
  until(text: string): Promise<string>;
  readonly ended: Promise<void>;
}

export interface StandOptions {
  readonly onConnection?: ((socket: net.Socket) => void) | undefined;
  /** Of an upstream of the test's own. */
  readonly upstreamPort?: number;
  readonly config?: (base: Config) => Partial<Config>;
  readonly logger?: Logger | undefined;
  readonly clock?: Clock | undefined;
}

export async function startStand(options: StandOptions = {}): Promise<Stand> {
  const { onConnection, config, logger = createLogger('silent'), clock = systemClock } = options;
  const upstreams: net.Socket[] = [];
  const upstream = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    socket.on('error', () => undefined);
    upstreams.push(socket);
    onConnection?.(socket);
  });
  const ownPort = await listening(upstream);
  const base = testConfig();
  const withUpstream = { ...base, upstream: { ...base.upstream, port: options.upstreamPort ?? ownPort } };
  const sidecar = await Sidecar.create({ ...withUpstream, ...config?.(withUpstream) }, logger, clock);
  const bound = await sidecar.start();
  const clients: net.Socket[] = [];
  return {
    sidecar,
    port: portOf(bound.listen),
    monitorPort: portOf(bound.monitor),
    upstreams,
    nextUpstream: async () => {
      const [socket] = await once(upstream, 'connection');
      return socket as net.Socket;
    },
    connect: async () => {
      const socket = net.connect({ port: portOf(bound.listen), host: '127.0.0.1', allowHalfOpen: true });
      const peer = new Peer(socket);
      await once(socket, 'connect');
      clients.push(socket);
      const until = async (text: string) => {
        await peer.until(text);
        return peer.received;
      };
      return { socket, received: () => peer.received, until, ended: peer.ended() };
    },
    samples: () => readSamples(bound.monitor),
    read: async <Answer>(path: string) => {
      const answer = await fetch(`http://${bound.monitor}/smartWeb/api/rest/v0/admin/${path}`);
      return (await answer.json()) as Answer;
    },
    close: async () => {
      for (const socket of [...clients, ...upstreams]) socket.destroy();
      upstream.close();
      await sidecar.stop();
    },
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
