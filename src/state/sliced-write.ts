import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, NS_PER_MS } from '../base/clock.ts';
import type { Fields } from './saved-record.ts';

/** How long one slice may block the event loop. A long record may add a few milliseconds. */
const SLICE_NS = 3 * NS_PER_MS;
const CHUNK_CHARS = 131_072;

export interface Written {
  readonly bytes: number;
  /** The longest time that the event loop was blocked. */
  readonly longestSliceNs: number;
}

/**
 * Writes a state file: takes `records` in slices, with a turn of the event loop after each, so that neither other work
 * nor memory notices tables of tens of megabytes. `isUrgent`: no turns in between, as at the end of the process.
 */
export async function writeInSlices(
  file: FileHandle,
  records: Iterable<Fields>,
  { clock, isUrgent = false }: { clock: Clock; isUrgent?: boolean },
): Promise<Written> {
  const digest = createHash('sha256');
  const steps = records[Symbol.iterator]();
  let bytes = 0;
  let longestSliceNs = 0;
  for (let isDone = false; !isDone; ) {
    const beganNs = clock.nowNs();
    let nowNs = beganNs;
    let lines = '';
    do {
      const step = steps.next();
      isDone = step.done === true;
      if (!isDone) lines += `${JSON.stringify(step.value)}\n`;
      nowNs = clock.nowNs();
    } while (!isDone && lines.length < CHUNK_CHARS && nowNs - beganNs < SLICE_NS);
    longestSliceNs = Math.max(longestSliceNs, nowNs - beganNs);
    const chunk = Buffer.from(lines, 'utf8');
    digest.update(chunk);
    bytes += chunk.length;
    await writeAll(file, chunk);
    if (!isDone && !isUrgent) await nextTurn();
  }
  const sum = Buffer.from(digest.digest('hex'), 'latin1');
  await writeAll(file, sum);
  return { bytes: bytes + sum.length, longestSliceNs };
}

/** `write` may write fewer bytes than it was given. */
async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  let at = 0;
  while (at < bytes.length) {
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at);
    at += bytesWritten;
  }
}
