/** A client for many connections with few requests each, for which wrk is unsuited: idle ones, exact numbers. */
import { once } from 'node:events';
import net from 'node:net';
import { OBJECT_PATH, RPC_PATH } from './answers.ts';

/** A connection for one request at a time; answers need a Content-Length. */
export async function connect(port: number): Promise<net.Socket> {
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  // 'close' follows, and ends what waits.
  return socket.on('error', () => undefined).resume();
}

/** Resolves with the answer. Throws for any status but 200. */
export async function exchange(socket: net.Socket, request: string): Promise<void> {
  socket.write(request);
  const status = socket.writable ? await readAnswer(socket) : undefined;
  if (status !== 200) throw new Error(status === undefined ? 'the connection was closed' : `answered ${status}`);
}

/** The status of the next answer, once its body has arrived; undefined when the connection ends first. Only answers with a length. */
export function readAnswer(socket: net.Socket): Promise<number | undefined> {
  return new Promise((resolve) => {
    let text = '';
    const end = (status?: number): void => {
      socket.off('data', onData).off('close', onEnd).off('end', onEnd);
      resolve(status);
    };
    const onEnd = () => end();
    const onData = (chunk: Buffer): void => {
      text += chunk.toString('latin1');
      const headEnd = text.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text.slice(0, headEnd))?.[1] ?? 0);
      if (text.length - headEnd - 4 >= length) end(Number(text.slice(9, 12)));
    };
    socket.on('data', onData).on('close', onEnd).on('end', onEnd);
  });
}

/** Opens connections a few at a time, so that no backlog overflows. */
export async function connectMany(port: number, count: number): Promise<net.Socket[]> {
  const clients: net.Socket[] = [];
  while (clients.length < count) {
    const batch = Math.min(100, count - clients.length);
    clients.push(...(await Promise.all(Array.from({ length: batch }, () => connect(port)))));
  }
  return clients;
}

/** Makes all requests over 64 connections and ends them. */
export async function fill(port: number, requests: Iterable<string>): Promise<void> {
  const clients = await connectMany(port, 64);
  const left = requests[Symbol.iterator]();
  try {
    await Promise.all(
      clients.map(async (client) => {
        for (let next = left.next(); !next.done; next = left.next()) await exchange(client, next.value);
      }),
    );
  } finally {
    for (const client of clients) client.destroy();
  }
}

/** `fields`: more of them, each with its end of line. */
export function toRequest(line: string, user: number, body: string, fields = ''): string {
  const credentials = Buffer.from(`user${user}:passw0rd`).toString('base64');
  return (
    `${line} HTTP/1.1\r\nHost: plant.example\r\nAccept: application/json\r\nContent-Type: application/json\r\n` +
    `Authorization: Basic ${credentials}\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`
  );
}

export function rpcRequest(name: number, user: number): string {
  return toRequest(`POST ${RPC_PATH}/Call${name}`, user, '{"parameters":[{"type":"INT","value":42}]}');
}

export function* firstCalls(users: number): Generator<string> {
  for (let user = 0; user < users; user += 1) yield rpcRequest(user, user);
}

/** `count` calls of 10 names by 10 users. */
export function* fewNames(count: number): Generator<string> {
  for (let i = 0; i < count; i += 1) yield rpcRequest(i % 10, Math.floor(i / 10) % 10);
}

export const MANY_CALLS = 200_000;
const [USERS, NAMES, NAMES_OF_USER] = [10_000, 2_000, 10];

/** 10,000 users with ten RPCs each out of 2,000, as in wrk.lua, twice: a session first counts in batches of 16. */
export function* manyNames(): Generator<string> {
  for (let i = 0; i < MANY_CALLS; i += 1) yield rpcRequest(i % NAMES, Math.floor(i / NAMES_OF_USER) % USERS);
}

/** Later a session counts in batches of 64. */
const CALLS_AT_ONCE = 64;
/** About the number of calls of `unevenCalls`. */
export const UNEVEN_CALLS = (USERS * CALLS_AT_ONCE) / 2;

/** The same calls, a different number for each user: as in production, sessions then do not all count in the same second. */
export function* unevenCalls(): Generator<string> {
  for (let i = 0; i < CALLS_AT_ONCE; i += 1) {
    for (let user = 0; user < USERS; user += 1) {
      if (i < (user * 37) % CALLS_AT_ONCE) yield rpcRequest((user * NAMES_OF_USER + (i % NAMES_OF_USER)) % NAMES, user);
    }
  }
}

export function* manyObjects(count = 10_000): Generator<string> {
  for (let i = 0; i < count; i += 1) yield toRequest(`GET ${OBJECT_PATH}/H.Object${i}`, i, '');
}
