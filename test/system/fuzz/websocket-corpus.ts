/** What two ends of the `ws` package say to each other, byte by byte, and damaged. */
import * as ws from 'ws';
import { Random } from '../../support/fuzz/random.ts';

type Side = 'client' | 'upstream';

type Sent = (data: Buffer, mask: boolean) => void;

// The package exports both, its types do not.
const Sender = Reflect.get(ws, 'Sender') as new (
  socket: object,
  extensions: object,
) => {
  readonly ping: Sent;
  readonly pong: Sent;
  send(data: Buffer, options: object, done: (cause?: unknown) => void): void;
  close(code: number, reason: string, mask: boolean): void;
};

const Deflate = Reflect.get(ws, 'PerMessageDeflate') as new (
  options: object,
) => {
  accept(offers: readonly object[]): object;
  cleanup(): void;
};

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

/** One direction of a real conversation, frame by frame. */
export interface Said {
  readonly from: Side;
  readonly deflate: { readonly contextTakeover: boolean; readonly windowBits: number } | undefined;
  readonly frames: readonly Buffer[];
  /** All that was sent before the close, pings aside: the texts, and `undefined` for binary data. */
  readonly messages: readonly (string | undefined)[];
}

function createDeflate(from: Side, agreed: Said['deflate']) {
  if (agreed === undefined) return undefined;
  const deflate = new Deflate({ isServer: from === 'upstream', threshold: 0 });
  const side = from === 'client' ? 'client' : 'server';
  const offer: Record<string, readonly unknown[]> = { [`${side}_max_window_bits`]: [agreed.windowBits] };
  if (!agreed.contextTakeover) offer[`${side}_no_context_takeover`] = [true];
  deflate.accept([offer]);
  return deflate;
}

/** Each frame that a real sender writes for these, and for the close after them. */
async function framesOf(from: Side, deflate: Said['deflate'], utterances: readonly Utterance[]): Promise<Buffer[]> {
  const frames: Buffer[] = [];
  let parts: Buffer[] | undefined;
  const socket = {
    cork: () => {
      parts = [];
    },
    uncork: () => {
      frames.push(Buffer.concat(parts ?? []));
      parts = undefined;
    },
    write: (bytes: Buffer, done?: () => void) => {
      (parts ?? frames).push(Buffer.from(bytes));
      done?.();
    },
  };
  const mask = from === 'client';
  const negotiated = createDeflate(from, deflate);
  const sender = new Sender(socket, negotiated === undefined ? {} : { 'permessage-deflate': negotiated });
  for (const { kind, content, fragments, compress } of utterances) {
    if (kind === 'ping') {
      if (content.length % 2 === 0) sender.ping(content, mask);
      else sender.pong(content, mask);
      continue;
    }
    const size = Math.ceil(content.length / fragments);
    for (let i = 0; i < fragments; i += 1) {
      const options = { binary: kind === 'binary', fin: i === fragments - 1, mask };
      const part = content.subarray(i * size, (i + 1) * size);
      await new Promise((sent) =>
        sender.send(part, { ...options, compress: compress && negotiated !== undefined }, sent),
      );
      // Control frames may come between fragments.
      if (i === 0 && fragments > 3) sender.ping(Buffer.from('between'), mask);
    }
  }
  sender.close(1_000, 'done', mask);
  negotiated?.cleanup();
  return frames;
}

/** Both directions of conversations: each kind of context takeover, each size of window, and no compression. */
export async function recordCorpus(conversations: number, maxBytes: number): Promise<Said[]> {
  const said: Said[] = [];
  for (let i = 0; i < conversations; i += 1) {
    const random = new Random(i + 1);
    // Of a window of 2^8 zlib makes one of 2^9.
    const windowBits = 9 + ((i >> 1) % 7);
    for (const from of ['client', 'upstream'] as const) {
      const contextTakeover = from === 'client' ? i % 2 !== 0 : i % 4 >= 2;
      const deflate = i % 9 === 8 ? undefined : { contextTakeover, windowBits };
      const utterances = createUtterances(random, 40, maxBytes);
      const messages = utterances
        .filter(({ kind }) => kind !== 'ping')
        .map(({ kind, content }) => (kind === 'text' ? content.toString('utf8') : undefined));
      said.push({ from, deflate, frames: await framesOf(from, deflate, utterances), messages });
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
  const kind = random.below(10);
  if (kind === 0) frames.splice(at, 1);
  else if (kind === 1) frames.splice(at, 0, frame);
  else if (kind === 2) frames.splice(at, 0, random.pick(random.pick(corpus).frames));
  else if (kind === 3) frames[at] = frame.subarray(0, random.below(frame.length + 1));
  else if (kind === 4) frames[at] = Buffer.concat([frame, Buffer.from([random.below(256)])]);
  else if (kind === 5) frames.push(...frames.splice(at, 1));
  else frames[at] = withFlippedBit(frame, kind < 8 ? Math.min(frame.length, 16) : frame.length, random);
}

function withFlippedBit(frame: Buffer, within: number, random: Random): Buffer {
  const i = random.below(within);
  if (frame.length > 0) frame[i] = (frame[i] as number) ^ (1 << random.below(8));
  return frame;
}
