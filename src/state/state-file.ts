/**
 * The form of the state file: JSON in lines, which any version can read.
 *
 * | Line | |
 * |---|---|
 * | first | the header: `{"file":"d2-sidecar state","layout":4,...}` |
 * | any number | records with named fields, as `Savable` yields them (saved-record.ts), in rows (rows.ts) |
 * | last | SHA-256 of all bytes before this line, in hexadecimal |
 *
 * In layout 3 each record is a JSON object in a line of its own; it is still read.
 *
 * Fields and kinds of records may be added and removed at any time: a version ignores those that it does not know. It
 * refuses a file of a newer layout, and of the binary ones. Raise `LAYOUT` only if a field changes its meaning; then add a
 * reader of the layout before, and keep a file of each released layout in test/fixtures/state.
 */
import { createHash } from 'node:crypto';
import { type Clock, NS_PER_MS } from '../base/clock.ts';
import { RowReader } from './rows.ts';
import { type ClockOffset, type Fields, SavedRecord } from './saved-record.ts';

export const LAYOUT = 4;
/** Its records are objects, with the same fields. */
const OBJECTS_LAYOUT = 3;

const PREFIX = '{"file":"d2-sidecar state","layout":';
const LAYOUT_AT_START = /^(\d{1,9}),/;
/** The layouts 1 and 2 were binary, without names of fields: each version could read its own only. */
const BINARY_PREFIX = 'D2SSTATE';
const NEWLINE = 0x0a;
const SHA256_HEX_CHARS = 64;
/** More than any header: two ids, a version and the names of the applications. */
export const HEADER_BYTES = 65_536;

export type StateRefusal = 'torn' | 'foreign' | 'older' | 'newer' | 'unreadable';

export interface Header {
  /** E.g. `1.4.0`. */
  readonly sidecarVersion: string;
  /** Random id of the process that wrote the file. */
  readonly writer: string;
  /** When that process started, by the wall clock. */
  readonly writerStartedMs: number;
  /** Context paths, as in the configuration. */
  readonly applications: readonly string[];
}

export type Opened =
  | {
      readonly kind: 'state';
      readonly header: Header;
      /** Parses each record when the iterator reaches it; throws if it is invalid. */
      readonly records: Iterable<SavedRecord>;
      readonly savedEpochMs: number;
    }
  | { readonly kind: StateRefusal; readonly why: string };

/** The fields of the first line, with the moment at which the save begins. */
export function headerFields(header: Header, clock: Clock): Fields {
  const { sidecarVersion, writer, writerStartedMs, applications } = header;
  return {
    ...{ file: 'd2-sidecar state', layout: LAYOUT },
    ...{ sidecarVersion, writer, writerStartedMs, applications },
    ...{ savedNs: clock.nowNs(), savedEpochMs: clock.epochMs() },
  };
}

/** Checks that `bytes` are a whole state file that this version can read, for these applications. */
export function openState(bytes: Buffer, applications: readonly string[], clock: Clock): Opened {
  const refusal = refuseStart(bytes) ?? refuseTorn(bytes);
  if (refusal !== undefined) return refusal;
  try {
    const headerEnd = bytes.indexOf(NEWLINE);
    const line = parsed(bytes, 0, headerEnd, { savedNs: 0, savedAtNs: 0, nowNs: 0 });
    const header = toHeader(line);
    const savedEpochMs = line.number('savedEpochMs');
    const unknown = header.applications.filter((name) => !applications.includes(name));
    if (unknown.length > 0) {
      return { kind: 'foreign', why: `it is of other applications than the configuration: ${listOf(unknown)}` };
    }
    const offset = toOffset(line.number('savedNs'), savedEpochMs, clock);
    const isObjects = line.number('layout') === OBJECTS_LAYOUT;
    const records = isObjects ? objectsIn(bytes, headerEnd + 1, offset) : rowsIn(bytes, headerEnd + 1, offset);
    return { kind: 'state', header, records, savedEpochMs };
  } catch (error) {
    return { kind: 'unreadable', why: error instanceof Error ? error.message : 'unknown reason' };
  }
}

/** Reads the header from the first `HEADER_BYTES` of a file; undefined if there is no readable one. */
export function peekHeader(start: Buffer): Header | undefined {
  if (refuseStart(start) !== undefined) return undefined;
  try {
    return toHeader(parsed(start, 0, start.indexOf(NEWLINE), { savedNs: 0, savedAtNs: 0, nowNs: 0 }));
  } catch {
    // Torn within its header: the writer is unknown.
    return undefined;
  }
}

function toHeader(line: SavedRecord): Header {
  return {
    sidecarVersion: line.textOrThrow('sidecarVersion'),
    writer: line.textOrThrow('writer'),
    writerStartedMs: line.number('writerStartedMs'),
    applications: line.texts('applications'),
  };
}

function* objectsIn(bytes: Buffer, start: number, clock: ClockOffset): Generator<SavedRecord> {
  for (const line of linesIn(bytes, start)) yield new SavedRecord(line, clock);
}

function* rowsIn(bytes: Buffer, start: number, clock: ClockOffset): Generator<SavedRecord> {
  const rows = new RowReader();
  for (const line of linesIn(bytes, start)) {
    const record = rows.toRecord(line);
    if (record !== undefined) yield new SavedRecord(record, clock);
  }
}

function* linesIn(bytes: Buffer, start: number): Generator<unknown> {
  const end = bytes.length - SHA256_HEX_CHARS;
  for (let at = start; at < end; ) {
    const lineEnd = bytes.indexOf(NEWLINE, at);
    yield parsedLine(bytes, at, lineEnd);
    at = lineEnd + 1;
  }
}

function parsed(bytes: Buffer, at: number, end: number, clock: ClockOffset): SavedRecord {
  return new SavedRecord(parsedLine(bytes, at, end), clock);
}

function parsedLine(bytes: Buffer, at: number, end: number): unknown {
  try {
    return JSON.parse(bytes.toString('utf8', at, end));
  } catch {
    // Not the error of JSON.parse, which quotes the text.
    throw new Error(`expected a record at byte ${at}`);
  }
}

function refuseStart(bytes: Buffer): { kind: StateRefusal; why: string } | undefined {
  const start = bytes.toString('latin1', 0, PREFIX.length);
  if (start.startsWith(BINARY_PREFIX)) return otherLayout('older', 'an older layout');
  if (!PREFIX.startsWith(start)) return { kind: 'foreign', why: 'it is not a state file' };
  const [, layout] = LAYOUT_AT_START.exec(bytes.toString('latin1', PREFIX.length, PREFIX.length + 10)) ?? [];
  if (layout === undefined) return { kind: 'torn', why: `it ends or is damaged after ${start.length} bytes` };
  const number = Number(layout);
  if (number === LAYOUT || number === OBJECTS_LAYOUT) return undefined;
  return otherLayout(number < LAYOUT ? 'older' : 'newer', `layout ${layout}`);
}

function otherLayout(kind: StateRefusal, found: string): { kind: StateRefusal; why: string } {
  return { kind, why: `it has ${found}, and this sidecar reads layouts ${OBJECTS_LAYOUT} and ${LAYOUT}` };
}

function refuseTorn(bytes: Buffer): { kind: StateRefusal; why: string } | undefined {
  const end = bytes.length - SHA256_HEX_CHARS;
  const isWhole =
    bytes[end - 1] === NEWLINE &&
    createHash('sha256').update(bytes.subarray(0, end)).digest('hex') === bytes.toString('latin1', end);
  return isWhole ? undefined : { kind: 'torn', why: 'its checksum is not that of its bytes' };
}

/** If the wall clock went backwards, no time counts as passed. */
function toOffset(savedNs: number, savedEpochMs: number, clock: Clock): ClockOffset {
  const goneMs = Math.max(0, clock.epochMs() - savedEpochMs);
  const nowNs = clock.nowNs();
  return { savedNs, savedAtNs: nowNs - goneMs * NS_PER_MS, nowNs };
}

function listOf(names: readonly string[]): string {
  return names.map((name) => `/${name}`).join(', ');
}
