/**
 * The text of a users file (`name:role:scrypt$N$r$p$salt$hash`) or a tokens file (`name:role:sha256$hash`): one entry
 * per line. Empty lines and lines that begin with `#` are ignored. No message repeats a line, since it may hold a
 * secret.
 */
import { ConfigError } from '../../base/errors.ts';
import {
  PASSWORD_HASH_FORM,
  type PasswordHash,
  parsePasswordHash,
  parseTokenHash,
  TOKEN_HASH_FORM,
} from './password-hash.ts';
import { isName, isRole, NAME_FORM, type Reader, ROLES } from './reader.ts';

export interface UserEntry extends Reader {
  /** As in the file. Entries with equal text are the same credential. */
  readonly hashText: string;
  readonly password: PasswordHash;
}

export interface TokenEntry extends Reader {
  readonly tokenHash: Buffer;
}

/** Bounded, since a token is compared with every entry. */
export const MAX_ENTRIES = 1_000;
/** The first few show the pattern. */
const MAX_MISTAKES_SHOWN = 5;

/** Throws ConfigError with line and expectation of the first mistakes. `file` is the file's name after its key. */
export function parseUsers(text: string, file: string): readonly UserEntry[] {
  return parseLines(text, file, PASSWORD_HASH_FORM, (reader, hashText) => {
    const password = parsePasswordHash(hashText);
    return password && { ...reader, hashText, password };
  });
}

/** Throws as `parseUsers`. */
export function parseTokens(text: string, file: string): readonly TokenEntry[] {
  return parseLines(text, file, TOKEN_HASH_FORM, (reader, hashText) => {
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
  file: string,
  hashForm: string,
  parseEntry: (reader: Reader, hashText: string) => T | undefined,
): readonly T[] {
  const entries: T[] = [];
  const mistakes: string[] = [];
  const addMistake = (line: number, expected: string) => mistakes.push(`${file}:${line}: expected ${expected}`);
  const lineOfName = new Map<string, number>();
  const lines = text.replace(/^\ufeff/, '').split('\n');
  for (const [index, untrimmed] of lines.entries()) {
    const line = index + 1;
    if (nameOfLine(untrimmed) === undefined) continue;
    const [name = '', role = '', hashText = '', ...rest] = untrimmed.trim().split(':');
    const entry = isName(name) && isRole(role) && rest.length === 0 ? parseEntry({ name, role }, hashText) : undefined;
    const first = lineOfName.get(name);
    if (entry === undefined) addMistake(line, describeExpectation(name, role, hashForm));
    else if (first !== undefined) addMistake(line, `another name than in line ${first}`);
    else if (entries.length === MAX_ENTRIES) {
      addMistake(line, `at most ${MAX_ENTRIES} entries`);
      break;
    } else entries.push(entry);
    lineOfName.set(name, first ?? line);
  }
  if (mistakes.length === 0) return entries;
  const shown = mistakes.slice(0, MAX_MISTAKES_SHOWN);
  const more = mistakes.length - shown.length;
  if (more > 0) shown.push(`${file}: ${more} more lines cannot be used`);
  throw new ConfigError(shown.join('\n'));
}

function describeExpectation(name: string, role: string, hashForm: string): string {
  if (!isName(name)) return `name:role:hash, with ${NAME_FORM}`;
  if (!isRole(role)) return `name:role:hash, with ${ROLES.join(' or ')} as role`;
  return `name:role:hash, with ${hashForm} as hash`;
}
