import type { ArchiveReader } from '../../state/archive/archive-reader.ts';
import type { ArchiveWriter } from '../../state/archive/archive-writer.ts';

/** A SHA-256. */
const TOKEN_BYTES = 32;

/** Writes a token for which `isLasting` holds, or a session's key, as the bytes that it is the base64 of. */
export function saveToken(out: ArchiveWriter, token: string): void {
  out.bytes(Buffer.from(token, 'base64'));
}

export function loadToken(input: ArchiveReader): string {
  return input.bytes(TOKEN_BYTES).toString('base64');
}
