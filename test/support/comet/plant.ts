/** The common part of all our Comet servers: a control system with objects and calls, and its own counts. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { listening } from '../net.ts';

export interface Plant {
  readonly port: number;
  readonly clientCount: number;
  /** Pushes a new value of the object to all who monitor it. */
  push(object: string): void;
  /** Forgets the client, like a restarted server: it has to handshake again. */
  forget(clientId: string): void;
  close(): Promise<void>;
}

/** How long a server holds a connect. */
export const HOLD_MS = 1_000;
/** How long a client may stay away between two connects: long enough for a busy machine; every run waits for it. */
export const GONE_MS = 6_000;

export const FORBIDDEN_OBJECT = 'Forbidden';

export const OBJECT_PREFIX = '/d2/object/';
export const DELIVERY_CHANNEL = '/service/d2/object';
export const SUBSCRIBE_CHANNEL = '/service/d2/subscribeObject';
export const UNSUBSCRIBE_CHANNEL = '/service/d2/unSubscribeObject';

/** The object of a delivery or subscription; undefined if it has none. */
export function objectOf(channel: string, data?: unknown): string | undefined {
  if (channel.startsWith(OBJECT_PREFIX)) return decodeURIComponent(channel.slice(OBJECT_PREFIX.length));
  if (channel !== DELIVERY_CHANNEL) return undefined;
  return (data as { objectName: string }).objectName;
}

let pushed = 0;

/** A value as it is sent: all are different. */
export function newValue(object: string): { objectName: string; value: number; unit: string; state: string[] } {
  pushed += 1;
  return { objectName: object, value: pushed / 8, unit: '°C', state: ['Valid', 'Normal'] };
}

/** On a free port of 127.0.0.1. `cut` ends at once: all connections, upgraded ones too, which the server does not track. */
export async function listen(server: Server) {
  // Longer than any client's: with Node's 5 s a call may meet the closing of its connection, and get a 502.
  server.keepAliveTimeout = 600_000;
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await listening(server);
  const cut = async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return { port: (server.address() as AddressInfo).port, cut };
}
