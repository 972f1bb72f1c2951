import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, NS_PER_MS } from '../base/clock.ts';
import { RowWriter } from './rows.ts';
import type { Fields } from './saved-record.ts';

/** How long one slice may block the event loop. A long record may add a few milliseconds. */
const SLICE_NS = 3 * NS_PER_MS;
/** A longer record has a buffer of its own. */
const CHUNK_BYTES = 262_144;
const SLICE_BYTES = 131_072;
const MAX_UTF8_BYTES_PER_CHAR = 3;

export interface Written {
  readonly bytes: number;
  /** The longest time that the event loop was blocked. */
  readonly longestSliceNs: number;
}

/**
 * Writes a state file: takes `records` in slices, with a turn of the event loop after each, so that neither other work
 * nor memory notices tables of tens of megabytes. `isUrgent`: no turns in between, as at the end of the process.
 * The first of `records` is the header, written as an object.
 */
export async function writeInSlices(
  file: FileHandle,
  records: Iterable<Fields>,
  { clock, isUrgent = false }: { clock: Clock; isUrgent?: boolean },
): Promise<Written> {
  const digest = createHash('sha256');
  const lines = linesOf(records);
  const chunk = new Chunk();
  let bytes = 0;
  let longestSliceNs = 0;
  for (let isDone = false; !isDone; ) {
    const beganNs = clock.nowNs();
    let nowNs = beganNs;
    do {
      const step = lines.next();
      isDone = step.done === true;
      if (step.done !== true) chunk.add(step.value);
      nowNs = clock.nowNs();
    } while (!isDone && chunk.length < SLICE_BYTES && nowNs - beganNs < SLICE_NS);
    longestSliceNs = Math.max(longestSliceNs, nowNs - beganNs);
    const written = chunk.take();
    digest.update(written);
    bytes += written.length;
    await writeAll(file, written);
    if (!isDone && !isUrgent) await nextTurn();
  }
  const sum = Buffer.from(digest.digest('hex'), 'latin1');
  await writeAll(file, sum);
  return { bytes: bytes + sum.length, longestSliceNs };
}

function* linesOf(records: Iterable<Fields>): Generator<string> {
  const rows = new RowWriter();
  let isHeader = true;
  for (const record of records) {
    yield isHeader ? `${JSON.stringify(record)}\n` : rows.toLines(record);
    isHeader = false;
  }
}

/** One buffer for all slices: a new one for each would be as much garbage as the file has bytes. */
class Chunk {
  #buffer: Buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  length = 0;

  add(text: string): void {
    const most = this.length + text.length * MAX_UTF8_BYTES_PER_CHAR;
    if (most > this.#buffer.length) {
      this.#buffer = Buffer.concat([this.#buffer.subarray(0, this.length)], most);
    }
    this.length += this.#buffer.write(text, this.length, 'utf8');
  }

  /** Valid until the next `add`. */
  take(): Buffer {
    const taken = this.#buffer.subarray(0, this.length);
    this.length = 0;
    // The buffer of a long record is not kept.
    if (this.#buffer.length > CHUNK_BYTES) this.#buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    return taken;
  }
}

/** `write` may write fewer bytes than it was given. */
async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  let at = 0;
  while (at < bytes.length) {
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at);
    at += bytesWritten;
  }
}
