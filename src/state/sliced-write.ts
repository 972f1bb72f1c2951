import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { NS_PER_MS } from '../base/clock.ts';
import { ArchiveWriter } from './archive/archive-writer.ts';
import { toTrailer } from './state-format.ts';

/** How long one slice may block the event loop. A long step may add a few milliseconds. */
const SLICE_NS = 3 * NS_PER_MS;

export interface Written {
  readonly bytes: number;
  /** The longest time that the event loop was blocked. */
  readonly longestSliceNs: number;
}

/**
 * Writes a state file: runs the steps of `write` in slices, with a turn of the event loop after each, and writes each
 * chunk when it is full. `isUrgent`: no turns in between, as at the end of the process.
 */
export async function writeInSlices(
  file: FileHandle,
  write: (out: ArchiveWriter) => Iterable<void>,
  { clock, isUrgent = false }: { clock: Clock; isUrgent?: boolean },
): Promise<Written> {
  const out = new ArchiveWriter();
  const digest = createHash('sha256');
  let bytes = 0;
  let longestSliceNs = 0;
  const flush = async (chunks: readonly Buffer[]) => {
    for (const chunk of chunks) {
      digest.update(chunk);
      bytes += chunk.length;
      await writeAll(file, chunk);
      out.recycle(chunk);
    }
  };
  const steps = write(out)[Symbol.iterator]();
  for (let isDone = false; !isDone; ) {
    const beganNs = clock.nowNs();
    let nowNs = beganNs;
    do {
      isDone = steps.next().done === true;
      nowNs = clock.nowNs();
    } while (!isDone && !out.hasFull && nowNs - beganNs < SLICE_NS);
    longestSliceNs = Math.max(longestSliceNs, nowNs - beganNs);
    await flush(isDone ? out.takeRest() : out.takeFull());
    if (!isDone && !isUrgent) await nextTurn();
  }
  await flush([toTrailer(clock, bytes + 16)]);
  const sum = digest.digest();
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
