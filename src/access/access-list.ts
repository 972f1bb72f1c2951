/** Everybody who may read: from the files that `monitor.auth` names, and by the certificates that it lists. */
import type { AccessFiles } from '../config/config.ts';
import { ConfigError, SidecarError, StartError } from '../errors.ts';
import { checkMistakes, readAccessFile } from './access-file.ts';
import { type Lines, parseTokens, parseUsers, type TokenEntry, type UserEntry } from './access-lines.ts';
import type { Reader } from './reader.ts';

/** For people: name and role, and what kind of credential it is. */
export interface ListedReader extends Reader {
  readonly kind: 'password' | 'token' | 'certificate';
}

interface Contents {
  readonly users: ReadonlyMap<string, UserEntry>;
  readonly tokens: readonly TokenEntry[];
}

export class AccessList {
  readonly #files: AccessFiles;
  readonly #certificates: ReadonlyMap<string, Reader>;
  #contents: Contents;

  /**
   * Throws StartError (D2S_ERR_ACCESS_FILE) for a file that cannot be read or is open to everybody; ConfigError with file, line
   * and expectation for what is in it, or if nobody is.
   */
  constructor(files: AccessFiles) {
    this.#files = files;
    this.#certificates = new Map((files.certificates ?? []).map((entry) => [entry.name, entry]));
    this.#contents = read(files, new Map());
  }

  /** Reads the files again. With anything wrong in them everything stays as it was, and what was wrong is returned. */
  reload(): SidecarError | undefined {
    try {
      this.#contents = read(this.#files, this.#contents.users);
      return undefined;
    } catch (error) {
      if (error instanceof SidecarError) return error;
      throw error;
    }
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

  /** Without hashes, in the order of the files. */
  get readers(): readonly ListedReader[] {
    const { users, tokens } = this.#contents;
    return [
      ...[...users.values()].map(({ name, role }) => ({ name, role, kind: 'password' as const })),
      ...tokens.map(({ name, role }) => ({ name, role, kind: 'token' as const })),
      ...[...this.#certificates.values()].map(({ name, role }) => ({ name, role, kind: 'certificate' as const })),
    ];
  }
}

function read({ usersFile, tokensFile, certificates = [] }: AccessFiles, before: Contents['users']): Contents {
  const users = readEntries('monitor.auth.usersFile', usersFile, parseUsers);
  const tokens = readEntries('monitor.auth.tokensFile', tokensFile, parseTokens);
  if (users.length + tokens.length + certificates.length === 0) {
    const files = [usersFile, tokensFile].filter((file) => file !== undefined).join(' and ');
    throw new ConfigError(`monitor.auth: nobody is in ${files}, expected at least one line of d2-sidecar passwd`);
  }
  return { users: new Map(users.map((entry) => [entry.name, kept(entry, before)])), tokens };
}

/** Who has not changed is the same object as before: what is remembered of him stays (access-control.ts). */
function kept(entry: UserEntry, before: Contents['users']): UserEntry {
  const old = before.get(entry.name);
  return old !== undefined && old.role === entry.role && old.hashText === entry.hashText ? old : entry;
}

/** Messages begin with the key, as those of all the configuration do. */
function readEntries<T>(key: string, file: string | undefined, parse: (text: string) => Lines<T>): readonly T[] {
  if (file === undefined) return [];
  try {
    const { entries, mistakes } = parse(readAccessFile(file));
    checkMistakes(file, mistakes);
    return entries;
  } catch (error) {
    if (error instanceof ConfigError) throw new ConfigError(error.message.replace(/^/gm, `${key}: `));
    if (error instanceof StartError) throw new StartError(error.code, `${key}: ${error.message}`, { cause: error });
    throw error;
  }
}
