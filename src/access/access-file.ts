/** Users and tokens files on disk. Hashes can be guessed at leisure by whoever reads them, so the files are closed to others. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, StartError } from '../errors.ts';
import { type LineMistake, nameOfLine } from './access-lines.ts';

const OTHERS = 0o007;
const PRIVATE_MODE = 0o600;
/** Opening a pipe would otherwise wait for somebody to write into it. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
/** A thousand entries are 150 KB. */
const MAX_BYTES = 1024 * 1024;
/** The first places tell enough. */
const MAX_MISTAKES_SHOWN = 5;

/**
 * Throws StartError (D2S_ERR_ACCESS_FILE) if the file is absent, no plain file, too large, or open to everybody; group and owner may
 * read, as Kubernetes mounts secrets with `defaultMode: 0440`.
 */
export function readAccessFile(file: string): string {
  return withFile(file, (descriptor) => {
    checkPrivate(file, fstatSync(descriptor));
    return readText(file, descriptor);
  });
}

/** The same without holding up the event loop, which a network file system could. */
export async function loadAccessFile(file: string): Promise<string> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, OPEN_FLAGS);
    const found = await handle.stat();
    checkPrivate(file, found);
    if (found.size > MAX_BYTES) throw tooLarge(file);
    return await handle.readFile('utf8');
  } catch (cause) {
    throw toUnreadable(file, cause);
  } finally {
    await handle?.close();
  }
}

/** Throws ConfigError with line and expectation of the first mistakes. `file` names it, with its key before it. */
export function checkMistakes(file: string, mistakes: readonly LineMistake[]): void {
  if (mistakes.length === 0) return;
  const shown = mistakes
    .slice(0, MAX_MISTAKES_SHOWN)
    .map(({ line, expected }) => `${file}:${line}: expected ${expected}`);
  const more = mistakes.length - shown.length;
  if (more > 0) shown.push(`${file}: ${more} more lines cannot be used`);
  throw new ConfigError(shown.join('\n'));
}

/**
 * Puts `line` in place of the one with its name, or at the end; everything else stays as it is. Written aside and renamed, so that a
 * reader sees the old file or the new one; mode 0600, and the owner that it had. Throws as `readAccessFile`, and what `check`
 * throws for the text that is there.
 */
export function putAccessLine(file: string, line: string, check: (text: string) => void): 'added' | 'replaced' {
  const target = toRealPath(file);
  const before = target === undefined ? undefined : readAccessFile(target);
  check(before ?? '');
  const name = nameOfLine(line);
  const lines = (before ?? '').split('\n');
  if (lines.at(-1) === '') lines.pop();
  const index = lines.findIndex((one) => nameOfLine(one) === name);
  if (index === -1) lines.push(line);
  else lines[index] = line;
  replaceFile(target ?? file, `${lines.join('\n')}\n`);
  return index === -1 ? 'added' : 'replaced';
}

function replaceFile(file: string, text: string): void {
  const aside = path.join(path.dirname(file), `.${path.basename(file)}.${randomBytes(6).toString('hex')}`);
  const owner = ownerOf(file);
  try {
    const descriptor = openSync(aside, 'wx', PRIVATE_MODE);
    try {
      writeFileSync(descriptor, text);
      // Root may keep the file of the sidecar's user; without that the sidecar could not read it any more.
      if (owner !== undefined && owner.uid !== process.getuid?.()) fchownSync(descriptor, owner.uid, owner.gid);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(aside, file);
  } catch (cause) {
    rmSync(aside, { force: true });
    throw new StartError('D2S_ERR_ACCESS_FILE', `${file} cannot be written: ${toErrno(cause)}`, { cause });
  }
}

function ownerOf(file: string): Stats | undefined {
  return toRealPath(file) === undefined ? undefined : withFile(file, (descriptor) => fstatSync(descriptor));
}

/** Where a link leads, so that it is not the link that is replaced; undefined if nothing is there. */
function toRealPath(file: string): string | undefined {
  try {
    return realpathSync(file);
  } catch (cause) {
    if (toErrno(cause) === 'ENOENT') return undefined;
    throw new StartError('D2S_ERR_ACCESS_FILE', `${file} cannot be read: ${toErrno(cause)}`, { cause });
  }
}

function withFile<T>(file: string, use: (descriptor: number) => T): T {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, OPEN_FLAGS);
    return use(descriptor);
  } catch (cause) {
    throw toUnreadable(file, cause);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function toUnreadable(file: string, cause: unknown): StartError {
  if (cause instanceof StartError) return cause;
  return new StartError('D2S_ERR_ACCESS_FILE', `${file} cannot be read: ${toErrno(cause)}`, { cause });
}

/** Of the open file, so that it is the one that is read. */
function checkPrivate(file: string, found: Stats): void {
  if (!found.isFile()) throw new StartError('D2S_ERR_ACCESS_FILE', `${file} is not a file`);
  // Windows has no such bits: Node makes them up.
  if (process.platform === 'win32' || (found.mode & OTHERS) === 0) return;
  const mode = (found.mode & 0o777).toString(8).padStart(4, '0');
  throw new StartError(
    'D2S_ERR_ACCESS_FILE',
    `${file} is open to every user of this machine (mode ${mode}): expected 0600, or 0640 for a group; chmod o= closes it`,
  );
}

function readText(file: string, descriptor: number): string {
  const bytes = Buffer.alloc(MAX_BYTES + 1);
  let length = 0;
  for (let count = -1; count !== 0 && length < bytes.length; length += count) {
    count = readSync(descriptor, bytes, length, bytes.length - length, null);
  }
  if (length > MAX_BYTES) throw tooLarge(file);
  return bytes.toString('utf8', 0, length);
}

function tooLarge(file: string): StartError {
  return new StartError('D2S_ERR_ACCESS_FILE', `${file} is larger than ${MAX_BYTES} bytes`);
}

/** `EACCES`, or what there is. */
function toErrno(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
}
