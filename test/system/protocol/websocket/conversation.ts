import type { AddressInfo } from 'node:net';
import { type PerMessageDeflateOptions, WebSocket, WebSocketServer } from 'ws';
import type { Random } from '../../../support/fuzz/random.ts';
import { type Capture, Tap } from './tap.ts';

/** What one side sends: a text or binary message, cut into so many fragments, or a ping. */
export interface Utterance {
  readonly kind: 'text' | 'binary' | 'ping';
  readonly content: Buffer;
  readonly fragments: number;
  readonly compress: boolean;
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
  if (random.chance(0.01))
    return random.pick([32_768, 33_000, 65_535, 65_536, 100_000, 300_000].filter((n) => n <= maxBytes));
  return random.below(Math.min(most, maxBytes) + 1);
}

export function createUtterances(random: Random, count: number, maxBytes = 300_000): Utterance[] {
  return Array.from({ length: count }, () => {
    const kind = random.chance(0.9) ? 'text' : random.pick(['binary', 'ping'] as const);
    const size = kind === 'ping' ? random.below(20) : sizeOf(random, maxBytes);
    return {
      kind,
      content: Buffer.from(kind === 'ping' ? 'p'.repeat(size) : textOf(random, size)),
      fragments: random.chance(0.15) ? 2 + random.below(5) : 1,
      compress: random.chance(0.9),
    };
  });
}

export const textsOf = (utterances: readonly Utterance[]): string[] =>
  utterances.filter(({ kind }) => kind === 'text').map(({ content }) => content.toString('utf8'));
export const binariesOf = (utterances: readonly Utterance[]): number =>
  utterances.filter(({ kind }) => kind === 'binary').length;

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

/** Resolves once `socket` has received so many messages. */
function heard(socket: WebSocket, count: number): Promise<void> {
  let left = count;
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('closed early')));
    socket.on('message', () => {
      left -= 1;
      if (left === 0) resolve();
    });
  });
}

/** The `ws` package talks to itself through a tap: both sides send all their messages, then close. */
export async function converse(
  deflate: { readonly client: PerMessageDeflateOptions | boolean; readonly server: PerMessageDeflateOptions | boolean },
  utterances: { readonly client: readonly Utterance[]; readonly upstream: readonly Utterance[] },
): Promise<Capture> {
  const server = new WebSocketServer({
    port: 0,
    host: '127.0.0.1',
    autoPong: false,
    perMessageDeflate: deflate.server,
  });
  await new Promise((resolve) => server.once('listening', resolve));
  const tap = new Tap((server.address() as AddressInfo).port);
  const accepted = new Promise<WebSocket>((resolve) => server.once('connection', resolve));
  const client = new WebSocket(`ws://127.0.0.1:${await tap.listen()}`, {
    // Peers that answer each ping of so many give up.
    autoPong: false,
    perMessageDeflate: deflate.client,
  });
  const opened = new Promise((resolve) => client.once('open', resolve));
  const peer = await accepted;
  const messages = (said: readonly Utterance[]): number => said.filter(({ kind }) => kind !== 'ping').length;
  const all = Promise.all([heard(peer, messages(utterances.client)), heard(client, messages(utterances.upstream))]);
  await opened;
  for (const utterance of utterances.client) say(client, utterance);
  for (const utterance of utterances.upstream) say(peer, utterance);
  await all;
  const closed = Promise.all([client, peer].map((socket) => new Promise((resolve) => socket.once('close', resolve))));
  client.close(1000, 'done');
  await closed;
  await new Promise((resolve) => server.close(resolve));
  await tap.close();
  return tap.captures()[0] as Capture;
}
