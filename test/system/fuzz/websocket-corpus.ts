import { OPCODE } from '../../../src/protocol/websocket/frame-head.ts';
import { Random } from '../../support/fuzz/random.ts';
import { converse, createUtterances } from './websocket-conversation.ts';

/** One direction of a real conversation, frame by frame. */
export interface Said {
  readonly from: 'client' | 'upstream';
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
