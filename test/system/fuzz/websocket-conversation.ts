/** Two ends of the `ws` package in conversation, with a copy of every byte. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type PerMessageDeflateOptions, WebSocket, WebSocketServer } from 'ws';
import { type AgreedExtensions, parseExtensions } from '../../../src/protocol/websocket/extensions.ts';
import type { Random } from '../../support/fuzz/random.ts';

type Side = 'client' | 'upstream';

/** A text or binary message, cut into so many fragments, or a ping. */
export interface Utterance {
  readonly kind: 'text' | 'binary' | 'ping';
  readonly content: Buffer;
  readonly fragments: number;
  readonly compress: boolean;
}

/** What came from each side after the upgrade. */
export interface Capture extends Readonly<Record<Side, Buffer>> {
  readonly extensions: AgreedExtensions | 'unknown';
}

const WORDS = ['channel', '/meta/connect', 'data', 'clientId', 'H.Object', 'value', 'äöü', '€', '😀', '"},{"', '12.5'];

function textOf(random: Random, length: number): string {
  // Noise cannot be compressed, one letter almost to nothing, and words refer to what was said before.
  const style = random.below(8);
  // A larger one would inflate to more than a hundred times its size, which is not read.
  if (style === 0 && length <= 60_000) return 'x'.repeat(length);
  let text = '';
  while (text.length < length) text += style === 1 ? random.next().toString(36).slice(2) : random.pick(WORDS);
  // A text cut within a surrogate pair gets the replacement character of UTF-8.
  return Buffer.from(text.slice(0, length)).toString();
}

function sizeOf(random: Random, maxBytes: number): number {
  const most = random.pick([0, 5, 130, 300, 300, 300, 2_000, 2_000, 20_000]);
  const large = [32_768, 33_000, 65_535, 65_536, 100_000, 300_000].filter((size) => size <= maxBytes);
  return random.chance(0.01) && large.length > 0 ? random.pick(large) : random.below(Math.min(most, maxBytes) + 1);
}

export function createUtterances(random: Random, count: number, maxBytes: number): Utterance[] {
  return Array.from({ length: count }, () => {
    const kind = random.chance(0.9) ? 'text' : random.pick(['binary', 'ping'] as const);
    return {
      kind,
      content: Buffer.from(kind === 'ping' ? 'p'.repeat(random.below(20)) : textOf(random, sizeOf(random, maxBytes))),
      fragments: random.chance(0.15) ? 2 + random.below(5) : 1,
      compress: random.chance(0.9),
    };
  });
}

function say(socket: WebSocket, { kind, content, fragments, compress }: Utterance): void {
  if (kind === 'ping') {
    if (content.length % 2 === 0) socket.ping(content);
    else socket.pong(content);
    return;
  }
  const size = Math.ceil(content.length / fragments);
  for (let i = 0; i < fragments; i += 1) {
    const part = content.subarray(i * size, (i + 1) * size);
    socket.send(part, { binary: kind === 'binary', fin: i === fragments - 1, compress });
    // Control frames may come between fragments.
    if (i === 0 && fragments > 3) socket.ping('between');
  }
}

/** Resolves once `socket` has received all messages of the other side. */
function heard(socket: WebSocket, said: readonly Utterance[]): Promise<void> {
  let left = said.filter(({ kind }) => kind !== 'ping').length;
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('closed early')));
    socket.on('message', () => {
      left -= 1;
      if (left === 0) resolve();
    });
  });
}

/** Both sides send all their messages, then close. */
export async function converse(
  deflate: Readonly<Record<'client' | 'server', PerMessageDeflateOptions | boolean>>,
  utterances: Readonly<Record<Side, readonly Utterance[]>>,
): Promise<Capture> {
  // Peers that answer each ping of so many give up.
  const options = { autoPong: false };
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: deflate.server, ...options });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: deflate.client, ...options });
  const opened = once(client, 'open');
  const upgraded = once(client, 'upgrade') as Promise<[IncomingMessage]>;
  const [peer, request] = (await once(server, 'connection')) as [WebSocket, IncomingMessage];
  const fromClient = copyOf(request.socket);
  const [{ socket, headers }] = await upgraded;
  const fromUpstream = copyOf(socket);
  await opened;
  const all = Promise.all([heard(peer, utterances.client), heard(client, utterances.upstream)]);
  for (const utterance of utterances.client) say(client, utterance);
  for (const utterance of utterances.upstream) say(peer, utterance);
  await all;
  const closed = Promise.all([client, peer].map((one) => new Promise((resolve) => one.once('close', resolve))));
  client.close(1000, 'done');
  await closed;
  await new Promise((resolve) => server.close(resolve));
  const field = headers['sec-websocket-extensions'];
  return {
    client: Buffer.concat(fromClient),
    upstream: Buffer.concat(fromUpstream),
    extensions: parseExtensions(field === undefined ? [] : [field]),
  };
}

function copyOf(socket: Socket): Buffer[] {
  const copies: Buffer[] = [];
  // First of all: the package unmasks the bytes in their place.
  socket.prependListener('data', (chunk) => copies.push(Buffer.from(chunk)));
  return copies;
}
