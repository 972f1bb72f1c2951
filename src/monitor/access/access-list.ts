/** All readers: from the files that `monitor.auth` names, and from its list of certificates. */
import { isDeepStrictEqual } from 'node:util';
import { ConfigError, StartError } from '../../base/errors.ts';
import type { AccessFiles } from '../../config/config.ts';
import { loadAccessFile } from './access-file.ts';
import { parseTokens, parseUsers, type TokenEntry, type UserEntry } from './access-lines.ts';
import type { Reader } from './reader.ts';

/** For display: name, role and kind of credential. */
export interface ListedReader extends Reader {
  readonly kind: 'password' | 'token' | 'certificate';
}

/** Content of the files; empty if not configured. */
type Texts = Readonly<Record<'users' | 'tokens', string>>;

/** What the files contain now; a change makes another list. */
export class AccessList {
  /** By common name. */
  readonly certificates: ReadonlyMap<string, Reader>;
  readonly users: ReadonlyMap<string, UserEntry>;
  readonly tokens: readonly TokenEntry[];
  readonly #files: AccessFiles;
  readonly #texts: Texts;

  /**
   * Returns `before` if it has the same `files` with the same content. Throws StartError (D2S_ERR_ACCESS_FILE) for a
   * file that is unreadable or accessible to everybody. Throws ConfigError with file, line and expectation for a mistake
   * in a file, or if there is no reader at all.
   */
  static async open(files: AccessFiles, before?: AccessList): Promise<AccessList> {
    const texts = {
      users: await readText(USERS_KEY, files.usersFile),
      tokens: await readText(TOKENS_KEY, files.tokensFile),
    };
    const isSame = before !== undefined && before.#files === files && isDeepStrictEqual(texts, before.#texts);
    return isSame ? before : new AccessList(files, texts);
  }

  private constructor(files: AccessFiles, texts: Texts) {
    const { usersFile, tokensFile, certificates = [] } = files;
    const users = parseUsers(texts.users, `${USERS_KEY}: ${usersFile}`);
    this.users = new Map(users.map((entry) => [entry.name, entry]));
    this.tokens = parseTokens(texts.tokens, `${TOKENS_KEY}: ${tokensFile}`);
    this.certificates = new Map(certificates.map((entry) => [entry.name, entry]));
    this.#files = files;
    this.#texts = texts;
    if (users.length + this.tokens.length + certificates.length > 0) return;
    const named = [usersFile, tokensFile].filter((file) => file !== undefined).join(' and ');
    throw new ConfigError(
      `monitor.auth: no entry in ${named}, expected at least one line written by d2-sidecar passwd`,
    );
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

/** Messages begin with the key, like all messages about the configuration. */
async function readText(key: string, file: string | undefined): Promise<string> {
  try {
    return file === undefined ? '' : await loadAccessFile(file);
  } catch (error) {
    if (error instanceof StartError) throw new StartError(error.code, `${key}: ${error.message}`, { cause: error });
    throw error;
  }
}

const USERS_KEY = 'monitor.auth.usersFile';
const TOKENS_KEY = 'monitor.auth.tokensFile';
