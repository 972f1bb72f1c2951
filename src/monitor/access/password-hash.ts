/**
 * Hashes in the files of users and tokens: of a password by scrypt (RFC 7914), written as `scrypt$N$r$p$salt$hash` with
 * salt and hash in base64; of a bearer token (RFC 6750) as `sha256$hash`. A token is 256 random bits, which nobody can
 * guess. So one round of SHA-256 is enough, while passwords that people choose need scrypt.
 */
import { hash, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

/** Cost of one verification: memory is 128 * N * r bytes, time grows with N * r * p. */
export interface ScryptCost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

export interface PasswordHash extends ScryptCost {
  readonly salt: Buffer;
  readonly hash: Buffer;
}

/**
 * 32 MiB and about 0.2 s. OWASP's Password Storage Cheat Sheet rates this as strong as N = 2^17 with p = 1, which takes
 * 128 MiB: too much for a sidecar.
 */
export const DEFAULT_COST: ScryptCost = { N: 32_768, r: 8, p: 3 };

/** A GPU could brute-force anything cheaper. */
const MIN_N = 16_384;
/** With more, one request would take all the memory of a small container. */
const MAX_MEMORY_BYTES = 256 * 1024 * 1024;
const MAX_P = 16;
const MIN_R = 8;

const SALT_BYTES = 16;
const HASH_BYTES = 32;

export const PASSWORD_HASH_FORM = 'scrypt$N$r$p$salt$hash as written by d2-sidecar passwd';

export async function createPasswordHash(password: string, cost: ScryptCost = DEFAULT_COST): Promise<PasswordHash> {
  const salt = randomBytes(SALT_BYTES);
  const { N, r, p } = cost;
  return { N, r, p, salt, hash: await derive(password, salt, cost) };
}

export function formatPasswordHash({ N, r, p, salt, hash }: PasswordHash): string {
  return `scrypt$${N}$${r}$${p}$${salt.toString('base64')}$${hash.toString('base64')}`;
}

/** Undefined if `text` has another form, or if its cost is too low or too high. */
export function parsePasswordHash(text: string): PasswordHash | undefined {
  const match = /^scrypt\$(\d{1,9})\$(\d{1,3})\$(\d{1,3})\$([A-Za-z0-9+/]+={0,2})\$([A-Za-z0-9+/]+={0,2})$/.exec(text);
  if (match === null) return undefined;
  const [N, r, p] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const salt = Buffer.from(match[4] ?? '', 'base64');
  const hash = Buffer.from(match[5] ?? '', 'base64');
  const isPowerOfTwo = (N & (N - 1)) === 0;
  const isBounded = N >= MIN_N && isPowerOfTwo && r >= MIN_R && p >= 1 && p <= MAX_P && 128 * N * r <= MAX_MEMORY_BYTES;
  if (!isBounded || salt.length < SALT_BYTES || hash.length !== HASH_BYTES) return undefined;
  return { N, r, p, salt, hash };
}

/** Takes the same time for right and wrong passwords. Runs in the thread pool. */
export async function isPassword(password: string, expected: PasswordHash): Promise<boolean> {
  return timingSafeEqual(await derive(password, expected.salt, expected), expected.hash);
}

/** A random hash for unknown users: comparing with it takes the same time, and no password matches. */
export function createDecoy({ N, r, p }: ScryptCost): PasswordHash {
  return { N, r, p, salt: randomBytes(SALT_BYTES), hash: randomBytes(HASH_BYTES) };
}

const deriveKey = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

function derive(password: string, salt: Buffer, { N, r, p }: ScryptCost): Promise<Buffer> {
  // OpenSSL needs a little more than 128 * N * r.
  return deriveKey(password, salt, HASH_BYTES, { N, r, p, maxmem: 2 * 128 * N * r });
}

const TOKEN_BYTES = 32;

/** Lets people and secret scanners recognize a token. */
const TOKEN_PREFIX = 'd2s_';

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
