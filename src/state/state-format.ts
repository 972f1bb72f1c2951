/**
 * The envelope of the state file, which proves that a file is ours, whole, and of this version.
 *
 * | Bytes | |
 * |---|---|
 * | 8 | `D2SSTATE` |
 * | 2 | version of the format, little-endian |
 * | any | header: version of the sidecar, its writer, its applications |
 * | any | the tables, as `Savable` writes them |
 * | 8, 8 | the moment of the end of the writing: monotonic ns of the writer, wall clock in ms, doubles |
 * | 8 | length of everything before, a double |
 * | 32 | SHA-256 of everything before |
 *
 * Increase the version whenever the form of anything saved changes, in any room. Other versions are not read.
 */
import { createHash } from 'node:crypto';
import { type Clock, NS_PER_MS } from '../base/clock.ts';
import { ArchiveReader, type Passed } from './archive/archive-reader.ts';
import type { ArchiveWriter } from './archive/archive-writer.ts';

export const FORMAT_VERSION = 2;

const MAGIC = Buffer.from('D2SSTATE', 'latin1');
const PRELUDE_BYTES = MAGIC.length + 2;
const DIGEST_BYTES = 32;
const CLOCK_BYTES = 16;
const LENGTH_BYTES = 8;
const TRAILER_BYTES = CLOCK_BYTES + LENGTH_BYTES + DIGEST_BYTES;
/** More than any header: two ids, a version and the names of the applications. */
export const HEADER_BYTES = 65_536;

export type Refusal = 'torn' | 'foreign' | 'older' | 'newer' | 'unreadable';

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
  | { readonly kind: 'state'; readonly header: Header; readonly input: ArchiveReader; readonly savedEpochMs: number }
  | { readonly kind: Refusal; readonly why: string };

export function writeHeader(out: ArchiveWriter, header: Header): void {
  const prelude = Buffer.alloc(PRELUDE_BYTES);
  MAGIC.copy(prelude);
  prelude.writeUInt16LE(FORMAT_VERSION, MAGIC.length);
  out.bytes(prelude);
  out.text(header.sidecarVersion);
  out.text(header.writer);
  out.double(header.writerStartedMs);
  out.count(header.applications.length);
  for (const name of header.applications) out.text(name);
}

/** The trailer without the digest. `bytes`: all before the length, the clock fields of the trailer included. */
export function toTrailer(clock: Clock, bytes: number): Buffer {
  const trailer = Buffer.alloc(CLOCK_BYTES + LENGTH_BYTES);
  trailer.writeDoubleLE(clock.nowNs(), 0);
  trailer.writeDoubleLE(clock.epochMs(), 8);
  trailer.writeDoubleLE(bytes, CLOCK_BYTES);
  return trailer;
}

/** Checks that `bytes` are a whole state file of this version, for these applications. Reads no tables. */
export function openState(bytes: Buffer, applications: readonly string[], clock: Clock): Opened {
  const refusal = refusePrelude(bytes) ?? refuseTorn(bytes);
  if (refusal !== undefined) return refusal;
  const at = bytes.length - TRAILER_BYTES;
  const savedEpochMs = bytes.readDoubleLE(at + 8);
  const passed = toPassed(bytes.readDoubleLE(at), savedEpochMs, clock);
  const input = new ArchiveReader(bytes.subarray(0, at), PRELUDE_BYTES, passed);
  try {
    const header = readHeader(input);
    const unknown = header.applications.filter((name) => !applications.includes(name));
    if (unknown.length === 0) return { kind: 'state', header, input, savedEpochMs };
    return { kind: 'foreign', why: `it is of other applications than the configuration: ${listOf(unknown)}` };
  } catch (error) {
    return { kind: 'unreadable', why: error instanceof Error ? error.message : 'unknown reason' };
  }
}

/** Reads the header from the first `HEADER_BYTES` of a file; undefined if there is no readable one. */
export function peekHeader(start: Buffer): Header | undefined {
  if (refusePrelude(start) !== undefined) return undefined;
  try {
    return readHeader(new ArchiveReader(start, PRELUDE_BYTES, { savedNs: 0, savedAtNs: 0 }));
  } catch {
    // Torn within its header: the writer is unknown.
    return undefined;
  }
}

function readHeader(input: ArchiveReader): Header {
  return {
    sidecarVersion: input.text(),
    writer: input.text(),
    writerStartedMs: input.double(),
    applications: Array.from({ length: Math.min(input.count(), HEADER_BYTES) }, () => input.text()),
  };
}

function refusePrelude(bytes: Buffer): { kind: Refusal; why: string } | undefined {
  const start = bytes.subarray(0, MAGIC.length);
  if (!start.equals(MAGIC.subarray(0, start.length))) return { kind: 'foreign', why: 'it is no state file' };
  if (bytes.length < PRELUDE_BYTES) return { kind: 'torn', why: `it has ${bytes.length} bytes only` };
  const version = bytes.readUInt16LE(MAGIC.length);
  if (version === FORMAT_VERSION) return undefined;
  const kind = version < FORMAT_VERSION ? 'older' : 'newer';
  return { kind, why: `it has format ${version}, and this sidecar reads and writes format ${FORMAT_VERSION}` };
}

function refuseTorn(bytes: Buffer): { kind: Refusal; why: string } | undefined {
  const digestAt = bytes.length - DIGEST_BYTES;
  const isWhole =
    bytes.length >= PRELUDE_BYTES + TRAILER_BYTES &&
    bytes.readDoubleLE(digestAt - LENGTH_BYTES) === digestAt - LENGTH_BYTES &&
    createHash('sha256').update(bytes.subarray(0, digestAt)).digest().equals(bytes.subarray(digestAt));
  return isWhole ? undefined : { kind: 'torn', why: 'its checksum is not that of its bytes' };
}

/** If the wall clock went backwards, no time counts as passed. */
function toPassed(savedNs: number, savedEpochMs: number, clock: Clock): Passed {
  const goneMs = Math.max(0, clock.epochMs() - savedEpochMs);
  return { savedNs, savedAtNs: clock.nowNs() - goneMs * NS_PER_MS };
}

function listOf(names: readonly string[]): string {
  return names.map((name) => `/${name}`).join(', ');
}
