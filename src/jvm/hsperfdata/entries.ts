/**
 * Parses the layout of HotSpot's counters file (version 2.0), but not its meaning: a header of 32 bytes, then the
 * entries in a row. Source: OpenJDK, `hotspot/share/runtime/perfMemory.hpp`. Pure; every offset is checked before use.
 */

export interface Entry {
  readonly name: string;
  /** `J`: one 64-bit number. `B`: bytes, padded with NUL. */
  readonly type: string;
  /** 1 none, 2 bytes, 3 ticks, 4 events, 5 string, 6 hertz. */
  readonly unit: number;
  readonly dataOffset: number;
  readonly dataBytes: number;
}

/** `starting`: the JVM has not finished writing its counters; that takes 50 to 70 ms from its start. */
export type Unusable = { readonly kind: 'starting' } | { readonly kind: 'invalid'; readonly reason: string };

type LayoutResult =
  | { readonly kind: 'layout'; readonly isLittleEndian: boolean; readonly entries: readonly Entry[] }
  | Unusable;

const HEADER_BYTES = 32;
const ENTRY_HEAD_BYTES = 20;
const MAGIC = 0xcafec0c0;

export function parseLayout(bytes: Buffer): LayoutResult {
  if (bytes.length < HEADER_BYTES)
    return invalid(`it has ${bytes.length} bytes, fewer than its header of ${HEADER_BYTES}`);
  if (bytes.readUInt32BE(0) !== MAGIC) return invalid('it does not begin with HotSpot’s magic number');
  const order = bytes.readUInt8(4);
  if (order > 1) return invalid(`its byte order is ${order}, neither 0 nor 1`);
  if (bytes.readUInt8(5) !== 2) return invalid(`its format has version ${bytes.readUInt8(5)}, not 2`);
  const accessible = bytes.readUInt8(7);
  if (accessible === 0) return { kind: 'starting' };
  if (accessible !== 1) return invalid(`its mark "accessible" is ${accessible}`);
  return readEntries(bytes, order === 1);
}

function readEntries(bytes: Buffer, isLittleEndian: boolean): LayoutResult {
  const int32 = (offset: number) => (isLittleEndian ? bytes.readInt32LE(offset) : bytes.readInt32BE(offset));
  const used = int32(8);
  /** Bytes of counters that did not fit: an absent counter is unknown. */
  const overflowBytes = int32(12);
  const count = int32(28);
  let offset = int32(24);
  if (used < HEADER_BYTES || used > bytes.length)
    return invalid(`its counters end at ${used} of ${bytes.length} bytes`);
  if (overflowBytes < 0 || offset < HEADER_BYTES || count < 0) return invalid('its header contradicts itself');
  const entries: Entry[] = [];
  for (let index = 0; index < count; index += 1) {
    if (offset + ENTRY_HEAD_BYTES > used) return invalid(`counter ${index} of ${count} lies beyond its end`);
    const entryBytes = int32(offset);
    if (entryBytes <= ENTRY_HEAD_BYTES || entryBytes % 8 !== 0 || offset + entryBytes > used) {
      return invalid(`counter ${index} of ${count} has a length of ${entryBytes} bytes`);
    }
    const entry = readEntry(bytes, offset, entryBytes, int32);
    if (entry === undefined) return invalid(`counter ${index} of ${count} contradicts itself`);
    entries.push(entry);
    offset += entryBytes;
  }
  // A counter that is just being added causes this, too; the next reading will have it.
  if (offset !== used) return invalid(`its ${count} counters end at ${offset}, not at ${used}`);
  return { kind: 'layout', isLittleEndian, entries };
}

/** HotSpot has one layout for entries: head, name, aligned value, padding to 8 bytes. Any other layout is damage. */
function readEntry(bytes: Buffer, offset: number, entryBytes: number, int32: (offset: number) => number) {
  if (int32(offset + 4) !== ENTRY_HEAD_BYTES) return undefined;
  const vectorLength = int32(offset + 8);
  const type = String.fromCharCode(bytes.readUInt8(offset + 12));
  const relativeDataOffset = int32(offset + 16);
  const nameStart = offset + ENTRY_HEAD_BYTES;
  const nameEnd = bytes.indexOf(0, nameStart);
  if (nameEnd < 0 || nameEnd >= offset + entryBytes) return undefined;
  const afterName = nameEnd + 1 - offset;
  const dataBytes = type === 'J' ? 8 : vectorLength;
  const expectedDataOffset = type === 'J' ? roundUpTo8(afterName) : afterName;
  // HotSpot writes only J scalars and B vectors.
  if (type === 'J' ? vectorLength !== 0 : type !== 'B' || vectorLength <= 0) return undefined;
  if (relativeDataOffset !== expectedDataOffset) return undefined;
  if (roundUpTo8(relativeDataOffset + dataBytes) !== entryBytes) return undefined;
  const name = bytes.toString('latin1', nameStart, nameEnd);
  return { name, type, unit: bytes.readUInt8(offset + 14), dataOffset: offset + relativeDataOffset, dataBytes };
}

function roundUpTo8(value: number): number {
  return Math.ceil(value / 8) * 8;
}

function invalid(reason: string): LayoutResult {
  return { kind: 'invalid', reason };
}
