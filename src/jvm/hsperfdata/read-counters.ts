import { setTimeout as delay } from 'node:timers/promises';
import { type Counters, toCounters } from './counters.ts';
import { type PerfFile, type PerfFilePath, type PerfFileResult, readPerfFile } from './perf-file.ts';
import type { SearchBounds } from './search-bounds.ts';

export type ReadCountersResult =
  | { readonly kind: 'counters'; readonly file: PerfFile; readonly counters: Counters }
  | Exclude<PerfFileResult, { kind: 'read' }>
  | { readonly kind: 'starting' }
  | { readonly kind: 'invalid'; readonly reason: string };

/** A JVM has written its counters 50 to 70 ms after its start. */
const STARTING_RETRIES = 10;
/** A counter that was just being added is complete at once. */
const INVALID_RETRIES = 2;
const RETRY_AFTER_MS = 20;

/**
 * Reads and parses a counters file; retries if it may be valid a moment later. `mayRetry` says for which owners: others
 * can leave any number of files that never become valid. Rejects only when `signal` aborts.
 */
export async function readCounters(
  path: PerfFilePath,
  bounds: SearchBounds,
  signal: AbortSignal,
  mayRetry: (uid: number) => boolean = () => true,
): Promise<ReadCountersResult> {
  for (let attempt = 0; ; attempt += 1) {
    const read = readPerfFile(path, bounds);
    if (read.kind !== 'read') return read;
    const result = toCounters(read.file.bytes);
    if (result.kind === 'counters') return { ...result, file: read.file };
    if (!mayRetry(read.file.uid) || attempt >= (result.kind === 'starting' ? STARTING_RETRIES : INVALID_RETRIES))
      return result;
    await delay(RETRY_AFTER_MS, undefined, { signal });
  }
}
