/** Lists and reads counters files. Any user may write to /tmp, so each file is checked before it is trusted. */
import { type BigIntStats, closeSync, constants, fstatSync, lstatSync, openSync, readSync } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { attempt } from '../../base/attempt.ts';
import { platform } from '../../base/platform/platform.ts';
import { describeFileError } from '../../base/trusted-file.ts';
import { type Counters, decodeCounters } from './counters.ts';
import type { Unusable } from './entries.ts';
import { SEARCH_LIMITS, type SearchBounds, type SearchContext } from './search-bounds.ts';

export interface PerfFilePath {
  /** The JVM's /tmp as we reach it, e.g. `/tmp` or `/proc/812/root/tmp`. */
  readonly tmp: string;
  readonly user: string;
  /** The JVM's pid in its own namespace. */
  readonly nspid: number;
}

export interface PerfFile {
  readonly bytes: Buffer;
  readonly device: bigint;
  readonly inode: bigint;
  readonly uid: number;
  readonly gid: number;
}

/** `denied`: our rights do not suffice. `refused`: the file is not one that a JVM writes, so we do not trust it. */
type Unread =
  | { readonly kind: 'absent' }
  | { readonly kind: 'denied'; readonly uid: number | undefined }
  | { readonly kind: 'refused'; readonly reason: string };

export type ReadCountersResult =
  | { readonly kind: 'counters'; readonly file: PerfFile; readonly counters: Counters }
  | Unread
  | Unusable;

const PREFIX = 'hsperfdata_';
/** A JVM has written its counters 50 to 70 ms after its start. */
const STARTING_RETRIES = 10;
/** A counter that is just being added is complete a moment later. */
const INVALID_RETRIES = 2;
const RETRY_AFTER_MS = 20;
/** Names to read between two turns of the event loop. */
const NAMES_AT_ONCE = 256;
const OPEN_FLAGS = constants.O_RDONLY | platform.noFollowFlag | platform.noWaitFlags;

export function pathOf({ tmp, user, nspid }: PerfFilePath): string {
  return `${tmp}/${PREFIX}${user}/${nspid}`;
}

export function fileNameOf({ user, nspid }: PerfFilePath): string {
  return `${PREFIX}${user}/${nspid}`;
}

/**
 * Names of counters files below a /tmp. Those of `knownUsers` come first, and no bound on directories hides them.
 * `denied` if we may not list that /tmp.
 */
export async function listPerfFiles(
  { bounds }: SearchContext,
  tmp: string,
  knownUsers: readonly string[],
): Promise<readonly PerfFilePath[] | 'denied'> {
  const isOther = (name: string) => name.startsWith(PREFIX) && !knownUsers.includes(name.slice(PREFIX.length));
  const directories = await list(tmp, isOther, bounds, 'directories');
  if (directories === 'denied') return 'denied';
  const paths: PerfFilePath[] = [];
  for (const user of [...knownUsers, ...directories.map((name) => name.slice(PREFIX.length))]) {
    const names = await list(`${tmp}/${PREFIX}${user}`, isNumber, bounds, 'files', paths.length);
    if (names !== 'denied') paths.push(...names.map((name) => ({ tmp, user, nspid: Number(name) })));
  }
  return paths;
}

function isNumber(name: string): boolean {
  return /^[1-9]\d{0,9}$/.test(name);
}

/**
 * Reads and parses a counters file; retries if it may be valid a moment later. `mayRetry` says for which owners: others
 * can leave any number of files that never become valid. Rejects only when `signal` aborts.
 */
export async function readCounters(
  { bounds, signal }: SearchContext,
  path: PerfFilePath,
  mayRetry: (uid: number) => boolean = () => true,
): Promise<ReadCountersResult> {
  for (let attempt = 0; ; attempt += 1) {
    const read = readPerfFile(path, bounds);
    if (read.kind !== 'read') return read;
    const result = decodeCounters(read.file.bytes);
    if (result.kind === 'counters') return { ...result, file: read.file };
    if (!mayRetry(read.file.uid) || attempt >= (result.kind === 'starting' ? STARTING_RETRIES : INVALID_RETRIES))
      return result;
    await delay(RETRY_AFTER_MS, undefined, { signal });
  }
}

/**
 * Reads a whole counters file. Never follows a symbolic link; accepts only a regular file in a directory of the same
 * owner that no other user may write to, as HotSpot itself demands.
 */
function readPerfFile(path: PerfFilePath, bounds: SearchBounds): { kind: 'read'; file: PerfFile } | Unread {
  const fullPath = pathOf(path);
  let fd: number | undefined;
  try {
    const directory = lstatSync(`${path.tmp}/${PREFIX}${path.user}`, { bigint: true });
    fd = openSync(fullPath, OPEN_FLAGS);
    const stats = fstatSync(fd, { bigint: true });
    const reason = whyRefused(directory, stats);
    if (reason !== undefined) return { kind: 'refused', reason };
    const { dev: device, ino: inode, uid, gid } = stats;
    return {
      kind: 'read',
      file: { bytes: readAll(fd, stats.size, bounds), device, inode, uid: Number(uid), gid: Number(gid) },
    };
  } catch (cause) {
    return classifyFailure(cause, fullPath);
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function whyRefused(directory: BigIntStats, file: BigIntStats): string | undefined {
  if (!directory.isDirectory()) return 'its directory is a link or no directory';
  if (!file.isFile()) return 'it is not a regular file';
  if (directory.uid !== file.uid) return `it belongs to uid ${file.uid}, its directory to uid ${directory.uid}`;
  if ((platform.permissionsOf(Number(directory.mode)) & 0o022) !== 0)
    return 'users other than its owner may write to its directory';
  return undefined;
}

/** The file's pages are shared with the JVM, so one read(2) is enough; it is repeated only after a short read. */
function readAll(fd: number, size: bigint, bounds: SearchBounds): Buffer {
  if (size > SEARCH_LIMITS.fileBytes) bounds.hit('fileBytes');
  const buffer = Buffer.allocUnsafe(Math.min(Number(size), SEARCH_LIMITS.fileBytes));
  let length = 0;
  while (length < buffer.length) {
    const count = readSync(fd, buffer, length, buffer.length - length, length);
    if (count === 0) break;
    length += count;
  }
  return buffer.subarray(0, length);
}

function classifyFailure(cause: unknown, path: string): Unread {
  const code = describeFileError(cause);
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ESRCH') return { kind: 'absent' };
  if (code === 'ELOOP') return { kind: 'refused', reason: 'it is a symbolic link' };
  if (code === 'EACCES' || code === 'EPERM') return { kind: 'denied', uid: attempt(() => lstatSync(path).uid) };
  return { kind: 'refused', reason: `it cannot be read (${code})` };
}

/**
 * Sorted names of the wanted entries of a directory. Reads it in pieces, on another thread, and stops at the bound, of
 * which `taken` are in use: other users may put any number of names there.
 */
async function list(
  path: string,
  isWanted: (name: string) => boolean,
  bounds: SearchBounds,
  bound: 'directories' | 'files',
  taken = 0,
): Promise<string[] | 'denied'> {
  const names: string[] = [];
  let looked = 0;
  try {
    for await (const { name } of await opendir(path, { bufferSize: NAMES_AT_ONCE })) {
      looked += 1;
      if (looked > SEARCH_LIMITS.entries) {
        bounds.hit('entries');
        break;
      }
      if (!isWanted(name)) continue;
      if (taken + names.length >= SEARCH_LIMITS[bound]) {
        bounds.hit(bound);
        break;
      }
      names.push(name);
    }
  } catch (cause) {
    const code = describeFileError(cause);
    return code === 'EACCES' || code === 'EPERM' ? 'denied' : names;
  }
  return names.sort();
}
