/**
 * The text of a users file (`name:role:scrypt$N$r$p$salt$hash`) or a tokens file (`name:role:sha256$hash`): one entry
 * per line. Empty lines and lines that begin with `#` are ignored. No message repeats a line, since it may hold a
 * secret.
 */
import { PASSWORD_HASH_FORM, type PasswordHash, parsePasswordHash } from './password-hash.ts';
import { isName, isRole, NAME_FORM, type Reader, ROLES } from './reader.ts';
import { parseTokenHash, TOKEN_HASH_FORM } from './token-hash.ts';

export interface UserEntry extends Reader {
  /** As in the file. Entries with equal text are the same credential. */
  readonly hashText: string;
  readonly password: PasswordHash;
}

export interface TokenEntry extends Reader {
  readonly tokenHash: Buffer;
}

/** A mistake in a line; `expected` is the end of a sentence. */
export interface LineMistake {
  /** From 1. */
  readonly line: number;
  readonly expected: string;
}

export interface Lines<T> {
  readonly entries: readonly T[];
  readonly mistakes: readonly LineMistake[];
}

/** Bounded, since a token is compared with every entry. */
export const MAX_ENTRIES = 1_000;

export function parseUsers(text: string): Lines<UserEntry> {
  return parseLines(text, PASSWORD_HASH_FORM, (reader, hashText) => {
    const password = parsePasswordHash(hashText);
    return password && { ...reader, hashText, password };
  });
}

export function parseTokens(text: string): Lines<TokenEntry> {
  return parseLines(text, TOKEN_HASH_FORM, (reader, hashText) => {
    const tokenHash = parseTokenHash(hashText);
    return tokenHash && { ...reader, tokenHash };
  });
}

/** The name in a line; undefined for comments and empty lines. */
export function nameOfLine(line: string): string | undefined {
  const text = line.trim();
  if (text === '' || text.startsWith('#')) return undefined;
  return text.split(':', 1)[0];
}

function parseLines<T extends Reader>(
  text: string,
  hashForm: string,
  toEntry: (reader: Reader, hashText: string) => T | undefined,
): Lines<T> {
  const entries: T[] = [];
  const mistakes: LineMistake[] = [];
  const lineOfName = new Map<string, number>();
  for (const [index, untrimmed] of text
    .replace(/^\ufeff/, '')
    .split('\n')
    .entries()) {
    const line = index + 1;
    if (nameOfLine(untrimmed) === undefined) continue;
    const [name = '', role = '', hashText = '', ...rest] = untrimmed.trim().split(':');
    const entry = isName(name) && isRole(role) && rest.length === 0 ? toEntry({ name, role }, hashText) : undefined;
    const first = lineOfName.get(name);
    if (entry === undefined) mistakes.push({ line, expected: describeExpectation(name, role, hashForm) });
    else if (first !== undefined) mistakes.push({ line, expected: `another name than in line ${first}` });
    else if (entries.length === MAX_ENTRIES) {
      mistakes.push({ line, expected: `at most ${MAX_ENTRIES} entries` });
      break;
    } else entries.push(entry);
    lineOfName.set(name, first ?? line);
  }
  return { entries, mistakes };
}

function describeExpectation(name: string, role: string, hashForm: string): string {
  if (!isName(name)) return `name:role:hash, with ${NAME_FORM}`;
  if (!isRole(role)) return `name:role:hash, with ${ROLES.join(' or ')} as role`;
  return `name:role:hash, with ${hashForm} as hash`;
}
