import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../base/clock.ts';
import { toErrno } from '../base/errors.ts';
import {
  findFolderObstacle,
  isTrustedOwner,
  openTrusted,
  resolveTrusted,
  toFileReason,
  trustedOwners,
} from '../base/trusted-file.ts';
import { findReplaceable, renameTrusted } from '../base/write-aside.ts';
import type { SavedRecord } from './saved-record.ts';
import { openState, type StateRefusal } from './state-file.ts';

/** Many times the size of full tables: a larger file must not be read into memory. */
const MAX_FILE_BYTES = 1024 ** 3;
const OTHERS_MAY_WRITE = 0o002;

export type Read =
  | { readonly kind: 'absent' }
  | { readonly kind: StateRefusal; readonly why: string; readonly isFile: boolean }
  | {
      readonly kind: 'state';
      readonly records: Iterable<SavedRecord>;
      readonly bytes: number;
      readonly sidecarVersion: string;
      readonly savedEpochMs: number;
    };

/** Checks that the file is whole and for these applications. Reads no tables. Never throws. */
export async function readState(file: string, applications: readonly string[], clock: Clock): Promise<Read> {
  try {
    const there = await stat(file);
    const { size, mode, uid } = there;
    if (!there.isFile()) return { kind: 'unreadable', why: 'it is not a file', isFile: false };
    if (size > MAX_FILE_BYTES) return { kind: 'foreign', why: `it has ${size} bytes`, isFile: true };
    if (!isTrustedOwner(uid)) {
      return { kind: 'foreign', why: `it belongs to uid ${uid}, expected ${trustedOwners()}`, isFile: false };
    }
    if ((mode & OTHERS_MAY_WRITE) !== 0) {
      return { kind: 'foreign', why: 'everybody may write it, so anybody may have', isFile: true };
    }
    const bytes = await readAll(file);
    const opened = openState(bytes, applications, clock);
    if (opened.kind !== 'state') return { ...opened, isFile: true };
    const { header, records, savedEpochMs } = opened;
    return { kind: 'state', records, bytes: bytes.length, sidecarVersion: header.sidecarVersion, savedEpochMs };
  } catch (error) {
    const reason = toFileReason(error);
    if (reason === 'ENOENT') return { kind: 'absent' };
    return { kind: 'unreadable', why: `it cannot be read (${reason})`, isFile: true };
  }
}

async function readAll(file: string): Promise<Buffer> {
  const { handle } = await openTrusted(file, constants.O_RDONLY);
  try {
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

/** Renames a refused file: one name per reason, so that restarts do not fill the disk. Undefined if it stays. */
export async function setAside(file: string, reason: StateRefusal): Promise<string | undefined> {
  try {
    const { realPath } = await resolveTrusted(file);
    const aside = `${realPath}.refused-${reason}`;
    await renameTrusted(realPath, aside);
    return aside;
  } catch {
    // The folder is not writable; saving fails for the same reason and logs it.
    return undefined;
  }
}

/** The obstacle to reading or writing the file, found without writing; undefined if there is none. */
export async function findObstacle(file: string): Promise<string | undefined> {
  let realPath: string;
  try {
    realPath = await findReplaceable(file);
  } catch (error) {
    return `${file}: ${toFileReason(error)}`;
  }
  const obstacle = await findFolderObstacle(path.dirname(realPath));
  if (obstacle !== undefined) return obstacle;
  const refusal = await access(file, constants.R_OK).catch(toErrno);
  return refusal === undefined || refusal === 'ENOENT' ? undefined : `${file} cannot be read (${refusal})`;
}
