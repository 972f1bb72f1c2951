/**
 * Bearer tokens (RFC 6750) and their hashes, written as `sha256$hash` in base64. A token is 256 random bits, which
 * nobody can guess. So one round of SHA-256 is enough, while passwords that people choose need scrypt.
 */
import { hash, randomBytes } from 'node:crypto';

const TOKEN_BYTES = 32;
const HASH_BYTES = 32;

/** Lets people and secret scanners recognize a token. */
const TOKEN_PREFIX = 'd2s_';

/** Describes what `parseTokenHash` accepts. */
export const TOKEN_HASH_FORM = 'sha256$hash as written by d2-sidecar passwd --token';

/** `d2s_` and 43 characters of A-Z a-z 0-9 - _ */
export function createToken(): string {
  return TOKEN_PREFIX + randomBytes(TOKEN_BYTES).toString('base64url');
}

export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

export function formatTokenHash(tokenHash: Buffer): string {
  return `sha256$${tokenHash.toString('base64')}`;
}

export function parseTokenHash(text: string): Buffer | undefined {
  const match = /^sha256\$([A-Za-z0-9+/]+={0,2})$/.exec(text);
  const bytes = Buffer.from(match?.[1] ?? '', 'base64');
  return bytes.length === HASH_BYTES ? bytes : undefined;
}
