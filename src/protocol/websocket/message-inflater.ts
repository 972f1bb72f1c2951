import { constants, inflateRawSync, type ZlibOptions } from 'node:zlib';
import type { MemoryBudget } from '../../limits/memory-budget.ts';
import { limitInflatedBytes } from '../../limits/unfinished-bodies.ts';
import type { DeflateParameters } from './extensions.ts';

/** zlib does not support a window of 8 bits. A larger window can read everything that a smaller one can. */
const MIN_WINDOW_BITS = 9;

/**
 * Appended to each payload: the four bytes that the sender removed from its end (RFC 7692 §7.2.2), then a final, stored
 * block of four bytes. Only if these come out at the end did the message end at the end of a block; zlib has no other
 * way to tell. They are not UTF-8, so no text ends with them.
 */
const TAIL = Buffer.from([0x00, 0x00, 0xff, 0xff, 0x01, 0x04, 0x00, 0xfb, 0xff, 0xfe, 0xfd, 0xfc, 0xfb]);
const MARK = TAIL.readUInt32BE(TAIL.length - 4);
const MARK_BYTES = 4;

/** Each stream costs 10 µs, however short: a message made of thousands would delay all traffic. */
const MAX_STREAMS = 16;

const MIN_CHUNK_BYTES = 1_024;
const MAX_CHUNK_BYTES = 64 * 1_024;

export type InflateFailure = 'malformed' | 'inflated-too-large' | 'budget';

/** With `info: true` zlib also tells how much of the input it used; `@types/node` does not know it. */
interface Inflated {
  readonly buffer: Buffer;
  readonly engine: { readonly bytesWritten: number };
}

/**
 * Inflates the compressed messages of one direction (RFC 7692 §7.2.2), each at once. With context takeover, the bytes
 * that it may refer back to are zlib's dictionary: zlib holds nothing between messages, and no message waits for a
 * thread. test/bench/websocket.bench.ts compares this with a zlib stream that is kept.
 */
export class MessageInflater {
  readonly #windowBits: number;
  readonly #maxInflatedBytes: number;
  /** Only with context takeover. */
  readonly #window: SlidingWindow | undefined;
  /** Why no later message can be inflated, although the last one could. */
  brokenBy: InflateFailure | undefined;

  constructor(parameters: DeflateParameters, maxInflatedBytes: number, budget: MemoryBudget) {
    this.#windowBits = Math.max(MIN_WINDOW_BITS, parameters.windowBits);
    this.#maxInflatedBytes = maxInflatedBytes;
    this.#window = parameters.contextTakeover ? new SlidingWindow(1 << this.#windowBits, budget) : undefined;
  }

  get heldBytes(): number {
    return this.#window?.heldBytes ?? 0;
  }

  /**
   * With context takeover, nothing more can be inflated after a failure. No payload is read as an empty message,
   * although senders should not encode one so (§7.2.3.6): a receiver that feeds it to zlib is out of step afterwards.
   */
  inflate(payload: Buffer): Buffer | InflateFailure {
    if (payload.length > 0) return this.#inflateStreams(payload);
    if (this.#window !== undefined) this.brokenBy = 'malformed';
    return payload;
  }

  release(): void {
    this.#window?.release();
  }

  /** A block with BFINAL set ends a stream and its window; another may follow in the message (§7.2.1, §7.2.3.4). */
  #inflateStreams(payload: Buffer): Buffer | InflateFailure {
    const chunkSize = Math.min(MAX_CHUNK_BYTES, Math.max(MIN_CHUNK_BYTES, 4 * payload.length));
    let input = Buffer.allocUnsafe(payload.length + TAIL.length);
    input.set(payload);
    input.set(TAIL, payload.length);
    const outputs: Buffer[] = [];
    let room = limitInflatedBytes(payload.length, this.#maxInflatedBytes);
    for (let streams = 0; streams < MAX_STREAMS; streams += 1) {
      const inflated = this.#inflateOnce(input, chunkSize, room + MARK_BYTES);
      if (typeof inflated === 'string') return inflated;
      const unused = input.length - inflated.engine.bytesWritten;
      const isLast = unused === 0;
      if (isLast ? !isMarked(inflated.buffer) : unused < TAIL.length) return 'malformed';
      const output = isLast ? inflated.buffer.subarray(0, -MARK_BYTES) : inflated.buffer;
      room -= output.length;
      if (room < 0) return 'inflated-too-large';
      outputs.push(output);
      if (!isLast) this.#window?.clear();
      // This message has been read; the next one cannot be.
      else if (this.#window?.append(output) === false) this.brokenBy = 'budget';
      if (unused <= TAIL.length) return outputs.length === 1 ? output : Buffer.concat(outputs);
      input = input.subarray(-unused);
    }
    return 'malformed';
  }

  #inflateOnce(input: Buffer, chunkSize: number, maxOutputLength: number): Inflated | InflateFailure {
    const options: ZlibOptions = {
      windowBits: this.#windowBits,
      // Without this, zlib would report a stream that is not the message's last as truncated.
      finishFlush: constants.Z_SYNC_FLUSH,
      // The default of 16 KiB, allocated for each message, costs more than inflating it.
      chunkSize,
      maxOutputLength,
      info: true,
    };
    const dictionary = this.#window?.view();
    if (dictionary !== undefined) options.dictionary = dictionary;
    try {
      return inflateRawSync(input, options) as unknown as Inflated;
    } catch (error) {
      const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
      return isTooLarge ? 'inflated-too-large' : 'malformed';
    }
  }
}

/** A truncated stored block would swallow the tail: the whole tail would then be output, not the mark alone. */
function isMarked(output: Buffer): boolean {
  if (output.length < MARK_BYTES || output.readUInt32BE(output.length - MARK_BYTES) !== MARK) return false;
  return !output.subarray(-TAIL.length).equals(TAIL);
}

/** Initial capacity: most connections send little, so their window never grows to its full size. */
const FIRST_BYTES = 1_024;

/** Extra capacity, as a part of the window's size: this many bytes come in before the window is moved. */
const SLACK_PART = 8;

/** The last inflated bytes, which a compressed message may refer back to (RFC 7692 §7.2). */
export class SlidingWindow {
  readonly #size: number;
  readonly #maxCapacity: number;
  readonly #budget: MemoryBudget;
  #bytes: Buffer | undefined;
  #length = 0;

  /** `size` in bytes, e.g. 32,768. Up to an eighth more is held, all of it taken from `budget`. */
  constructor(size: number, budget: MemoryBudget) {
    this.#size = size;
    this.#maxCapacity = size + size / SLACK_PART;
    this.#budget = budget;
  }

  get heldBytes(): number {
    return this.#bytes?.length ?? 0;
  }

  /** At most the last `size` bytes, `undefined` without any; valid until the next `append`. */
  view(): Buffer | undefined {
    if (this.#length === 0) return undefined;
    return this.#bytes?.subarray(Math.max(0, this.#length - this.#size), this.#length);
  }

  /** `false` if the budget has no memory for it; the window is useless then. */
  append(output: Buffer): boolean {
    const added = output.length > this.#size ? output.subarray(output.length - this.#size) : output;
    if (added.length === 0) return true;
    const bytes = this.#roomFor(added.length);
    if (bytes === undefined) return false;
    bytes.set(added, this.#length);
    this.#length += added.length;
    return true;
  }

  clear(): void {
    this.#length = 0;
  }

  release(): void {
    this.#budget.giveBack('windows', this.heldBytes);
    this.#bytes = undefined;
    this.#length = 0;
  }

  #roomFor(added: number): Buffer | undefined {
    const bytes = this.#bytes;
    const needed = this.#length + added;
    if (bytes !== undefined && needed <= bytes.length) return bytes;
    if (bytes !== undefined && bytes.length === this.#maxCapacity) {
      const kept = Math.min(this.#size, this.#maxCapacity - added);
      bytes.copyWithin(0, this.#length - kept, this.#length);
      this.#length = kept;
      return bytes;
    }
    return this.#grow(needed, added);
  }

  #grow(needed: number, added: number): Buffer | undefined {
    const wanted = Math.max(FIRST_BYTES, 2 * this.heldBytes, needed);
    // Past half the capacity, take all of it instead of another step soon after.
    const capacity = wanted > this.#maxCapacity / 2 ? this.#maxCapacity : wanted;
    if (!this.#budget.take('windows', capacity)) return undefined;
    // Not from Node's pool: a small slice held for hours would keep its whole slab alive.
    const grown = Buffer.allocUnsafeSlow(capacity);
    const kept = Math.min(this.#length, capacity - added);
    this.#bytes?.copy(grown, 0, this.#length - kept, this.#length);
    this.#budget.giveBack('windows', this.heldBytes);
    this.#bytes = grown;
    this.#length = kept;
    return grown;
  }
}
