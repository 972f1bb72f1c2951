import type { ArchiveReader } from '../../state/archive/archive-reader.ts';
import type { ArchiveWriter } from '../../state/archive/archive-writer.ts';

/** Length of a SHA-256 hash. */
const TOKEN_BYTES = 32;

/** Writes the bytes of a base64 token for which `isLasting` holds, or of a session's key. */
export function saveToken(out: ArchiveWriter, token: string): void {
  out.bytes(Buffer.from(token, 'base64'));
}

export function loadToken(input: ArchiveReader): string {
  return input.bytes(TOKEN_BYTES).toString('base64');
}
