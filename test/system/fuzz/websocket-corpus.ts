/** What two ends of the `ws` package say to each other, byte by byte, and damaged. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type PerMessageDeflateOptions, WebSocket, WebSocketServer } from 'ws';
import { parseExtensions } from '../../../src/protocol/websocket/extensions.ts';
import { OPCODE } from '../../../src/protocol/websocket/frame-head.ts';
import { Random } from '../../support/fuzz/random.ts';

type Side = 'client' | 'upstream';

/** A text or binary message, cut into so many fragments, or a ping. */
interface Utterance {
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
  const large = [32_768, 33_000, 65_535, 65_536, 100_000, 300_000].filter((size) => size <= maxBytes);
  return random.chance(0.01) && large.length > 0 ? random.pick(large) : random.below(Math.min(most, maxBytes) + 1);
}

function createUtterances(random: Random, count: number, maxBytes: number): Utterance[] {
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

/** Both sides send all their messages, then close. Resolves with what came from each after the upgrade. */
async function converse(
  deflate: Readonly<Record<'client' | 'server', PerMessageDeflateOptions | boolean>>,
  utterances: Readonly<Record<Side, readonly Utterance[]>>,
) {
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

/** One direction of a real conversation, frame by frame. */
export interface Said {
  readonly from: Side;
  readonly deflate: { readonly contextTakeover: boolean; readonly windowBits: number } | undefined;
  readonly frames: readonly Buffer[];
  /** All that was sent before the close, pings aside: the texts, and `undefined` for binary data. */
  readonly messages: readonly (string | undefined)[];
}

function toFrames(bytes: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const short = (bytes[at + 1] as number) & 0x7f;
    const maskBytes = ((bytes[at + 1] as number) & 0x80) === 0 ? 0 : 4;
    const [lengthBytes, length] =
      short === 127
        ? [8, Number(bytes.readBigUInt64BE(at + 2))]
        : short === 126
          ? [2, bytes.readUInt16BE(at + 2)]
          : [0, short];
    const end = at + 2 + lengthBytes + maskBytes + length;
    frames.push(bytes.subarray(at, end));
    at = end;
  }
  return frames;
}

/** Both directions of conversations of the `ws` package: each kind of context takeover, each size of window, and no compression. */
export async function recordCorpus(conversations: number, maxBytes: number): Promise<Said[]> {
  const said: Said[] = [];
  for (let i = 0; i < conversations; i += 1) {
    const random = new Random(i + 1);
    const [client, upstream] = [createUtterances(random, 40, maxBytes), createUtterances(random, 40, maxBytes)];
    const utterances = { client, upstream };
    const options = {
      clientNoContextTakeover: i % 2 === 0,
      serverNoContextTakeover: i % 4 < 2,
      clientMaxWindowBits: 8 + ((i >> 1) % 8),
      serverMaxWindowBits: 8 + ((i >> 1) % 8),
      threshold: 0,
    };
    const deflate = i % 9 === 8 ? false : options;
    const capture = await converse({ client: deflate, server: deflate }, utterances);
    const { extensions } = capture;
    if (extensions === 'unknown') throw new Error('unknown extension');
    for (const from of ['client', 'upstream'] as const) {
      const messages = utterances[from]
        .filter(({ kind }) => kind !== 'ping')
        .map(({ kind, content }) => (kind === 'text' ? content.toString('utf8') : undefined));
      said.push({ from, deflate: extensions.deflate?.[from], frames: toFrames(capture[from]), messages });
    }
  }
  return said;
}

/** The beginning of `said`, with zero to several damages. */
export function mutated(said: Said, corpus: readonly Said[], random: Random): Buffer[] {
  const frames = said.frames.slice(0, 1 + random.below(said.frames.length));
  if (frames.length > 1 && random.chance(0.6)) frames.splice(-1, 1);
  const damages = random.pick([0, 1, 1, 1, 2, 5]);
  for (let i = 0; i < damages; i += 1) damage(frames, corpus, random);
  return frames;
}

function damage(frames: Buffer[], corpus: readonly Said[], random: Random): void {
  const at = random.below(frames.length);
  const frame = Buffer.from(frames[at] ?? []);
  const kind = random.below(13);
  if (kind === 0) frames.splice(at, 1);
  else if (kind === 1) frames.splice(at, 0, frame);
  else if (kind === 2) frames.splice(at, 0, random.pick(random.pick(corpus).frames));
  else if (kind === 3) frames[at] = frame.subarray(0, random.below(frame.length + 1));
  else if (kind === 4) frames[at] = Buffer.concat([frame, Buffer.from([random.below(256)])]);
  else if (kind === 5) frames.push(...frames.splice(at, 1));
  else if (kind === 6) frames[at] = cutInTwo(frame, random);
  else if (kind === 7) frames[at] = withLastByte(frame, random);
  else if (kind === 8) frames[at] = withFirstBlockFinal(frame);
  else frames[at] = withFlippedBit(frame, kind < 11 ? Math.min(frame.length, 16) : frame.length, random);
}

function withFlippedBit(frame: Buffer, within: number, random: Random): Buffer {
  const i = random.below(within);
  if (frame.length > 0) frame[i] = (frame[i] as number) ^ (1 << random.below(8));
  return frame;
}

/** Flips BFINAL of a compressed message's first block. */
function withFirstBlockFinal(frame: Buffer): Buffer {
  const length = (frame[1] ?? 0) & 0x7f;
  const payloadAt = 2 + (length < 126 ? 0 : length === 126 ? 2 : 8) + (((frame[1] ?? 0) & 0x80) === 0 ? 0 : 4);
  if (payloadAt < frame.length) frame[payloadAt] = (frame[payloadAt] as number) ^ 1;
  return frame;
}

function withLastByte(frame: Buffer, random: Random): Buffer {
  if (frame.length > 2) frame[frame.length - 1] = random.below(256);
  return frame;
}

function cutInTwo(frame: Buffer, random: Random): Buffer {
  const [first = 0, length = 0] = frame;
  if (length >= 126 || length === 0 || (first & 0x0f) >= OPCODE.close) return frame;
  const size = random.below(length + 1);
  return Buffer.concat([
    Buffer.from([first & 0x7f, size]),
    frame.subarray(2, 2 + size),
    Buffer.from([first & 0x80, length - size]),
    frame.subarray(2 + size),
  ]);
}
