/** All readers: from the files that `monitor.auth` names, and from its list of certificates. */

import { ConfigError, StartError } from '../../base/errors.ts';
import type { AccessFiles } from '../../config/config.ts';
import { checkMistakes, loadAccessFile } from './access-file.ts';
import { type Lines, parseTokens, parseUsers, type TokenEntry, type UserEntry } from './access-lines.ts';
import type { Reader } from './reader.ts';

/** For display: name, role and kind of credential. */
export interface ListedReader extends Reader {
  readonly kind: 'password' | 'token' | 'certificate';
}

/** Content of the files; undefined if not configured. */
interface Texts {
  readonly users: string | undefined;
  readonly tokens: string | undefined;
}

interface Contents {
  readonly texts: Texts;
  readonly users: ReadonlyMap<string, UserEntry>;
  readonly tokens: readonly TokenEntry[];
}

export class AccessList {
  #files: AccessFiles;
  #certificates: ReadonlyMap<string, Reader>;
  #contents: Contents;

  /**
   * Throws StartError (D2S_ERR_ACCESS_FILE) for a file that is unreadable or accessible to everybody. Throws
   * ConfigError with file, line and expectation for a mistake in a file, or if there is no reader at all.
   */
  static async open(files: AccessFiles): Promise<AccessList> {
    return new AccessList(files, toContents(files, await readTexts(files), new Map()));
  }

  private constructor(files: AccessFiles, contents: Contents) {
    this.#files = files;
    this.#certificates = toCertificates(files);
    this.#contents = contents;
  }

  /** Reads `files` without any change; the returned function applies them. Throws as `open`. */
  async prepareReload(files: AccessFiles): Promise<() => void> {
    const contents = toContents(files, await readTexts(files), this.#contents.users);
    return () => {
      this.#files = files;
      this.#certificates = toCertificates(files);
      this.#contents = contents;
    };
  }

  /** Like `prepare` with the current files; undefined if their content has not changed. */
  async prepareChanged(): Promise<(() => void) | undefined> {
    const files = this.#files;
    const texts = await readTexts(files);
    const { texts: before, users } = this.#contents;
    if (files !== this.#files || (texts.users === before.users && texts.tokens === before.tokens)) return undefined;
    const contents = toContents(files, texts, users);
    return () => {
      // A reload may have named other files since.
      if (files === this.#files) this.#contents = contents;
    };
  }

  /** By common name. */
  get certificates(): ReadonlyMap<string, Reader> {
    return this.#certificates;
  }

  get users(): ReadonlyMap<string, UserEntry> {
    return this.#contents.users;
  }

  get tokens(): readonly TokenEntry[] {
    return this.#contents.tokens;
  }

  /** Without hashes, in the order of the files; then the certificates. */
  get readers(): readonly ListedReader[] {
    const { users, tokens } = this.#contents;
    return [
      ...[...users.values()].map(({ name, role }) => ({ name, role, kind: 'password' as const })),
      ...tokens.map(({ name, role }) => ({ name, role, kind: 'token' as const })),
      ...[...this.#certificates.values()].map(({ name, role }) => ({ name, role, kind: 'certificate' as const })),
    ];
  }
}

function toCertificates({ certificates = [] }: AccessFiles): ReadonlyMap<string, Reader> {
  return new Map(certificates.map((entry) => [entry.name, entry]));
}

async function readTexts({ usersFile, tokensFile }: AccessFiles): Promise<Texts> {
  return { users: await readText(USERS_KEY, usersFile), tokens: await readText(TOKENS_KEY, tokensFile) };
}

async function readText(key: string, file: string | undefined): Promise<string | undefined> {
  try {
    return file === undefined ? undefined : await loadAccessFile(file);
  } catch (error) {
    if (error instanceof StartError) throw new StartError(error.code, `${key}: ${error.message}`, { cause: error });
    throw error;
  }
}

function toContents(files: AccessFiles, texts: Texts, before: Contents['users']): Contents {
  const { usersFile, tokensFile, certificates = [] } = files;
  const users = toEntries(USERS_KEY, usersFile, texts.users, parseUsers);
  const tokens = toEntries(TOKENS_KEY, tokensFile, texts.tokens, parseTokens);
  if (users.length + tokens.length + certificates.length === 0) {
    const named = [usersFile, tokensFile].filter((file) => file !== undefined).join(' and ');
    throw new ConfigError(
      `monitor.auth: no entry in ${named}, expected at least one line written by d2-sidecar passwd`,
    );
  }
  return { texts, users: new Map(users.map((entry) => [entry.name, kept(entry, before)])), tokens };
}

/** Unchanged entries keep their object, so that cached verifications survive (access-control.ts). */
function kept(entry: UserEntry, before: Contents['users']): UserEntry {
  const old = before.get(entry.name);
  return old !== undefined && old.role === entry.role && old.hashText === entry.hashText ? old : entry;
}

/** Messages begin with the key, like all messages about the configuration. */
function toEntries<T>(
  key: string,
  file: string | undefined,
  text: string | undefined,
  parse: (text: string) => Lines<T>,
): readonly T[] {
  const { entries, mistakes } = parse(text ?? '');
  checkMistakes(`${key}: ${file}`, mistakes);
  return entries;
}

const USERS_KEY = 'monitor.auth.usersFile';
const TOKENS_KEY = 'monitor.auth.tokensFile';
