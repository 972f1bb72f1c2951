import { once } from 'node:events';
import net from 'node:net';
import { createLogger } from '../../../src/base/logger.ts';
import type { Config } from '../../../src/config/config.ts';
import { Sidecar } from '../../../src/sidecar/sidecar.ts';
import { listening, portOf } from '../../support/net.ts';
import { testConfig } from '../../support/wire/test-config.ts';

/** A sidecar in this process in front of an upstream whose every connection the test speaks for. */
export interface Stand {
  readonly sidecar: Sidecar;
  readonly port: number;
  readonly monitorPort: number;
  /** Upstream connections in the order of their coming. */
  readonly upstreams: readonly net.Socket[];
  nextUpstream(): Promise<net.Socket>;
  /** A client's connection, with everything that it receives. */
  connect(): Promise<Client>;
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
  /** Called for each upstream connection. */
  readonly onConnection?: (socket: net.Socket) => void;
  readonly config?: (base: Config) => Partial<Config>;
}

export async function startStand({ onConnection, config }: StandOptions = {}): Promise<Stand> {
  const upstreams: net.Socket[] = [];
  const upstream = net.createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    upstreams.push(socket);
    onConnection?.(socket);
  });
  const upstreamPort = await listening(upstream);
  const base = testConfig();
  const withUpstream = { ...base, upstream: { ...base.upstream, port: upstreamPort } };
  const sidecar = await Sidecar.create({ ...withUpstream, ...config?.(withUpstream) }, createLogger('silent'));
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
      const client = await connect(portOf(bound.listen));
      clients.push(client.socket);
      return client;
    },
    close: async () => {
      for (const socket of [...clients, ...upstreams]) socket.destroy();
      upstream.close();
      await sidecar.stop();
    },
  };
}

/** Answers each request on the connection with `response` as soon as its head has come. */
export function answering(response: string): (socket: net.Socket) => void {
  return (socket) => {
    let text = '';
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
      for (let end = text.indexOf('\r\n\r\n'); end !== -1; end = text.indexOf('\r\n\r\n')) {
        text = text.slice(end + 4);
        socket.write(response, 'latin1');
      }
    });
    socket.on('end', () => socket.end());
  };
}

export const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

export function get(path: string, fields = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: plant.example\r\n${fields}\r\n`;
}

async function connect(port: number): Promise<Client> {
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  let text = '';
  socket.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1');
  });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const ended = new Promise<void>((resolve) => {
    socket.once('end', resolve);
    socket.once('close', () => resolve());
  });
  const until = (wanted: string) =>
    new Promise<string>((resolve, reject) => {
      const look = () => text.includes(wanted) && resolve(text);
      socket.on('data', look);
      look();
      ended.then(
        () => reject(new Error(`the connection ended before ${JSON.stringify(wanted)}: ${JSON.stringify(text)}`)),
        reject,
      );
    });
  return { socket, received: () => text, until, ended };
}
