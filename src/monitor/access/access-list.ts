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

/** What the files contain now; a change makes another list. */
export class AccessList {
  /** By common name. */
  readonly certificates: ReadonlyMap<string, Reader>;
  readonly users: ReadonlyMap<string, UserEntry>;
  readonly tokens: readonly TokenEntry[];
  readonly #files: AccessFiles;
  readonly #texts: Texts;

  /**
   * Throws StartError (D2S_ERR_ACCESS_FILE) for a file that is unreadable or accessible to everybody. Throws
   * ConfigError with file, line and expectation for a mistake in a file, or if there is no reader at all. Unchanged
   * entries of `before` keep their object, so that cached verifications survive (access-control.ts).
   */
  static async open(files: AccessFiles, before?: AccessList): Promise<AccessList> {
    return new AccessList(files, await readTexts(files), before);
  }

  private constructor(files: AccessFiles, texts: Texts, before: AccessList | undefined) {
    const { usersFile, tokensFile, certificates = [] } = files;
    const users = parseEntries(USERS_KEY, usersFile, texts.users, parseUsers);
    this.users = new Map(users.map((entry) => [entry.name, keepUnchanged(entry, before?.users.get(entry.name))]));
    this.tokens = parseEntries(TOKENS_KEY, tokensFile, texts.tokens, parseTokens);
    this.certificates = new Map(certificates.map((entry) => [entry.name, entry]));
    this.#files = files;
    this.#texts = texts;
    if (users.length + this.tokens.length + certificates.length > 0) return;
    const named = [usersFile, tokensFile].filter((file) => file !== undefined).join(' and ');
    throw new ConfigError(
      `monitor.auth: no entry in ${named}, expected at least one line written by d2-sidecar passwd`,
    );
  }

  /** The list that the files have now; undefined if their content has not changed. Throws as `open`. */
  async readChanged(): Promise<AccessList | undefined> {
    const texts = await readTexts(this.#files);
    const isSame = texts.users === this.#texts.users && texts.tokens === this.#texts.tokens;
    return isSame ? undefined : new AccessList(this.#files, texts, this);
  }

  /** Without hashes, in the order of the files; then the certificates. */
  get readers(): readonly ListedReader[] {
    const listed = (readers: Iterable<Reader>, kind: ListedReader['kind']) =>
      Array.from(readers, ({ name, role }) => ({ name, role, kind }));
    return [
      ...listed(this.users.values(), 'password'),
      ...listed(this.tokens, 'token'),
      ...listed(this.certificates.values(), 'certificate'),
    ];
  }
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

function keepUnchanged(entry: UserEntry, old: UserEntry | undefined): UserEntry {
  return old !== undefined && old.role === entry.role && old.hashText === entry.hashText ? old : entry;
}

/** Messages begin with the key, like all messages about the configuration. */
function parseEntries<T>(
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
