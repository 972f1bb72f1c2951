import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { NS_PER_MS } from '../base/clock.ts';
import { ArchiveWriter } from './archive/archive-writer.ts';
import { toTrailer } from './state-format.ts';

/** How long one slice keeps the event loop. What is written at one moment may add a few milliseconds to the last one. */
const SLICE_NS = 3 * NS_PER_MS;

export interface Written {
  readonly bytes: number;
  /** The longest that the event loop was kept at once. */
  readonly longestSliceNs: number;
}

/**
 * Writes a state file: the steps of `write` in slices, between which everything else of the process has its turn, and what
 * they wrote as soon as there is a chunk of it. `isUrgent`: nobody else needs a turn, as at the end of the process.
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

/** A write may take less than it was given. */
async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  let at = 0;
  while (at < bytes.length) {
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at);
    at += bytesWritten;
  }
}
