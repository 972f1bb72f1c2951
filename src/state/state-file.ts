/**
 * The state file: records as JSON, one in each line, compressed by gzip (`zcat` shows them), whose CRC reveals damage.
 * The first record is the header: `{"file":"d2-sidecar state","layout":5,...}`. `Savable` yields the others.
 *
 * SavedFields and kinds of records may be added and removed at any time: a version ignores those that it does not know.
 * Raise `LAYOUT` only if a field changes its meaning: a file of another layout is refused as a whole.
 */
import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { type Clock, NS_PER_MS } from '../base/clock.ts';
import { openTrusted } from '../base/trusted-file.ts';
import { type SavedFields, SavedRecord, SavedRecordError } from './saved-record.ts';

export const LAYOUT = 5;
const FILE = 'd2-sidecar state';

/** How long one slice may block the event loop. A long record may add a few milliseconds. */
const SLICE_NS = 3 * NS_PER_MS;
/** Larger ones leave more garbage: with full tables 128 KB take 13 MB more. */
const SLICE_CHARS = 32_768;
/** The quickest: level 6 takes up to a third more time, and saves a seventh of the bytes. */
const GZIP_LEVEL = 1;
const PIECE_BYTES = 65_536;

export interface Bounds {
  /** Of a whole file, decompressed. */
  readonly maxChars: number;
  readonly maxRecordChars: number;
}

/**
 * Many times full tables, and a session with all its names. A larger file would be read for minutes, e.g. one made to
 * inflate without end.
 */
const BOUNDS: Bounds = { maxChars: 1024 ** 3, maxRecordChars: 32 * 1024 ** 2 };

export type SavedHeader = NonNullable<ReturnType<typeof parseHeader>>;

/** A process that writes the file. */
export type Header = Omit<SavedHeader, 'layout' | 'savedNs' | 'savedEpochMs'>;

export type SaveResult = Awaited<ReturnType<typeof writeState>>;

/**
 * Writes the header and `records` in slices, with a turn of the event loop after each, so that neither other work nor
 * memory notices large tables. Rejects with EFBIG for a file that `readLines` would refuse.
 */
export async function writeState(
  handle: FileHandle,
  header: Header,
  records: Iterable<SavedFields>,
  clock: Clock,
  { maxChars, maxRecordChars } = BOUNDS,
) {
  /** The longest time that the event loop was blocked. */
  let longestSliceNs = 0;
  async function* slices(): AsyncGenerator<string> {
    const saved = { savedNs: clock.nowNs(), savedEpochMs: clock.epochMs() };
    let slice = encodeLine({ file: FILE, layout: LAYOUT, ...header, ...saved });
    let chars = slice.length;
    let beganNs = clock.nowNs();
    for (const record of records) {
      const line = encodeLine(record);
      chars += line.length;
      if (chars > maxChars || line.length > maxRecordChars) throw tooLarge();
      slice += line;
      const durationNs = clock.nowNs() - beganNs;
      longestSliceNs = Math.max(longestSliceNs, durationNs);
      if (slice.length < SLICE_CHARS && durationNs < SLICE_NS) continue;
      yield slice;
      slice = '';
      await nextTurn();
      beganNs = clock.nowNs();
    }
    yield slice;
  }
  await pipeline(slices, createGzip({ level: GZIP_LEVEL }), async (pieces: AsyncIterable<Buffer>) => {
    for await (const piece of pieces) await handle.appendFile(piece);
  });
  return { bytes: (await handle.stat()).size, longestSliceNs };
}

/**
 * The lines of a state file, decompressed as they are taken. Throws zlib's errors (`Z_DATA_ERROR`, `Z_BUF_ERROR`) for a
 * file that is no gzip, damaged or cut, EFBIG beyond the bounds, and the errors of `openTrusted`.
 */
export async function* readLines(file: string, { maxChars, maxRecordChars } = BOUNDS): AsyncGenerator<string> {
  const { handle } = await openTrusted(file, constants.O_RDONLY);
  try {
    const gunzip = createGunzip({ chunkSize: PIECE_BYTES }).setEncoding('utf8');
    // The loop gets its errors, too.
    pipeline(handle.createReadStream(), gunzip).catch(() => undefined);
    let chars = 0;
    let rest = '';
    for await (const piece of gunzip as AsyncIterable<string>) {
      chars += piece.length;
      if (chars > maxChars || rest.length > maxRecordChars) throw tooLarge();
      rest += piece;
      // The pieces of a long line are joined once.
      if (!piece.includes('\n')) continue;
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
    if (rest !== '') yield rest;
  } finally {
    await handle.close();
  }
}

/** The header in the first line of a file; undefined for a file of something else. Throws `SavedRecordError`. */
export function parseHeader(line: string | undefined) {
  if (line === undefined) return undefined;
  const saved = parseRecord(line);
  if (saved.text('file') !== FILE) return undefined;
  return {
    layout: saved.count('layout'),
    /** E.g. `1.4.0`. */
    sidecarVersion: saved.textOrThrow('sidecarVersion'),
    /** Random id of the process. */
    writer: saved.textOrThrow('writer'),
    /** When that process started, by the wall clock. */
    writerStartedMs: saved.number('writerStartedMs'),
    /** Context paths, as in the configuration. */
    applications: saved.texts('applications'),
    /** When the save began, by the monotonic clock of the writer, and by the wall clock. */
    savedNs: saved.number('savedNs'),
    savedEpochMs: saved.number('savedEpochMs'),
  };
}

/** Throws `SavedRecordError`. */
export function parseRecord(line: string, clock = { savedNs: 0, savedAtNs: 0, nowNs: 0 }): SavedRecord {
  let fields: unknown;
  try {
    fields = JSON.parse(line);
  } catch {
    // Not the error of JSON.parse, which quotes the text.
    throw new SavedRecordError('JSON', 'record');
  }
  return new SavedRecord(fields, clock);
}

function encodeLine(record: SavedFields): string {
  return `${JSON.stringify(record)}\n`;
}

function tooLarge(): Error {
  return Object.assign(new Error('too large'), { code: 'EFBIG' });
}
