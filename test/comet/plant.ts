/** What all our Comet servers have in common: a control system with objects and calls, which counts by itself. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Ledger } from './ledger.ts';

export interface Plant {
  readonly port: number;
  readonly ledger: Ledger;
  /** Pushes a new value of the object to all who monitor it. */
  push(object: string): void;
  /** Loses the client, as a server does that was restarted: it has to shake hands anew. */
  forget(clientId: string): void;
  close(): Promise<void>;
}

/** How long a server holds a connect. */
export const HOLD_MS = 1_000;
/** How long a client may stay away between two connects: long enough for a busy machine, since every run waits for it. */
export const GONE_MS = 6_000;

/** An object that nobody may monitor. */
export const FORBIDDEN_OBJECT = 'Forbidden';

export const OBJECT_PREFIX = '/d2/object/';
export const DELIVERY_CHANNEL = '/service/d2/object';
export const SUBSCRIBE_CHANNEL = '/service/d2/subscribeObject';
export const UNSUBSCRIBE_CHANNEL = '/service/d2/unSubscribeObject';

/** The object that a delivery or subscription is about; undefined when it is about none. */
export function objectOf(channel: string, data?: unknown): string | undefined {
  if (channel.startsWith(OBJECT_PREFIX)) return decodeURIComponent(channel.slice(OBJECT_PREFIX.length));
  if (channel !== DELIVERY_CHANNEL) return undefined;
  return (data as { objectName: string }).objectName;
}

let pushed = 0;

/** A value as it stands on the wire: no two are alike. */
export function newValue(object: string): { objectName: string; value: number; unit: string; state: string[] } {
  pushed += 1;
  return { objectName: object, value: pushed / 8, unit: '°C', state: ['Valid', 'Normal'] };
}

/** An HTTP server on a free port of 127.0.0.1. */
export interface Listening {
  readonly port: number;
  /** Ends at once: connections are cut, upgraded ones too, which the server itself knows nothing of any more. */
  cut(): Promise<void>;
}

export async function listen(server: Server): Promise<Listening> {
  // Longer than any client's: with Node's 5 s a call now and then meets the closing of its connection, and is answered with 502.
  server.keepAliveTimeout = 600_000;
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return { port: (server.address() as AddressInfo).port, cut };
}
