/**
 * Replaces, renames and deletes files in folders where other users may write, too. A link in the path is followed or
 * refused as in trusted-file.ts, so a link is never replaced by a file; a file of another user is never touched.
 */
import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, rename, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { platform } from './platform/platform.ts';
import { ignoreAbsent, isTrustedOwner, resolveTrusted, trustedOwners, UntrustedFileError } from './trusted-file.ts';

const { O_CREAT, O_EXCL, O_WRONLY } = constants;

export class WrittenByAnotherError extends Error {
  readonly code = 'EANOTHER';
}

/**
 * Writes a second file, syncs it and renames it over `file`: after a crash the old or the new one is there, whole. Mode
 * 0600. The second file has one fixed name, so that crashes leave one file behind and not one each. `write` gets the path
 * without links, too.
 *
 * Rejects with UntrustedFileError for another user's link, or a file that `isReplaceable` refuses; by default that is one
 * of another user.
 */
export async function writeAside<T>(
  file: string,
  write: (handle: FileHandle, target: string) => Promise<T>,
  isReplaceable: (found: Stats) => boolean = ({ uid }) => isTrustedOwner(uid),
): Promise<T> {
  const target = await findReplaceable(file, isReplaceable);
  const aside = `${target}.saving`;
  // Removes what a crash left. O_EXCL below: never write through a link that someone placed there.
  await removeOwn(aside);
  const handle = await open(aside, O_CREAT | O_EXCL | O_WRONLY | platform.noFollowFlag, 0o600);
  try {
    const result = await write(handle, target);
    await handle.sync();
    // Another sidecar may have replaced this second file by its own unfinished one.
    const [own, there] = await Promise.all([handle.stat(), stat(aside).catch(() => undefined)]);
    if (there === undefined || own.ino !== there.ino || own.dev !== there.dev) throw new WrittenByAnotherError();
    await rename(aside, target);
    // Some network and virtual machine file systems cannot do this; the file itself is written.
    await platform.syncFolder(path.dirname(target)).catch(() => undefined);
    return result;
  } catch (error) {
    if (!(error instanceof WrittenByAnotherError)) await removeOwn(aside).catch(() => undefined);
    throw error;
  } finally {
    await handle.close();
  }
}

/** The path without links of a file that this process may replace. Rejects with UntrustedFileError. */
export async function findReplaceable(
  file: string,
  isReplaceable: (found: Stats) => boolean = ({ uid }) => isTrustedOwner(uid),
): Promise<string> {
  const { realPath } = await resolveTrusted(file);
  const found = await lstat(realPath).catch(ignoreAbsent);
  if (found === undefined) return realPath;
  if (!found.isFile()) throw new UntrustedFileError('it is not a regular file');
  if (!isReplaceable(found)) throw belongsToOther(realPath, found);
  return realPath;
}

/** Renames a regular file over `to`, which may be absent. Does nothing without the file. Follows no link. */
export async function renameTrusted(from: string, to: string): Promise<void> {
  const there = await lstat(from).catch(ignoreAbsent);
  if (there === undefined) return;
  const replaced = await lstat(to).catch(ignoreAbsent);
  for (const [file, stats] of [[from, there] as const, ...(replaced === undefined ? [] : [[to, replaced] as const])]) {
    // The kernel refuses a folder.
    if (!stats.isFile() && !stats.isDirectory()) throw new UntrustedFileError(`${file} is not a regular file`);
    if (!isTrustedOwner(stats.uid)) throw belongsToOther(file, stats);
  }
  await rename(from, to);
}

/** Deletes a file or a link, not what it leads to. Rejects with UntrustedFileError unless it is this user's own. */
export async function removeOwn(file: string): Promise<void> {
  const found = await lstat(file).catch(ignoreAbsent);
  if (found === undefined) return;
  if (found.uid !== (platform.userId() ?? found.uid)) throw belongsToOther(file, found);
  await unlink(file).catch(ignoreAbsent);
}

function belongsToOther(file: string, { uid }: Stats): UntrustedFileError {
  return new UntrustedFileError(`${file} belongs to uid ${uid}, expected the owner to be ${trustedOwners()}`);
}
