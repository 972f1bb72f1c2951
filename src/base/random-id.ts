import { randomBytes } from 'node:crypto';

const BYTES = 16;

/** A UUID of version 4 (RFC 9562 §5.4). In executables of old Node.js `randomUUID` repeats itself (CVE-2026-106074). */
export function randomId(): string {
  const bytes = randomBytes(BYTES);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
