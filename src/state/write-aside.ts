import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';

const { O_CREAT, O_EXCL, O_WRONLY } = constants;

/** Another process is writing the same file. */
export class WrittenByAnotherError extends Error {
  readonly code = 'EANOTHER';
}

/**
 * Writes a second file, syncs it and renames it over `file`: after a crash the old or the new one is there, whole. Mode
 * 0600. The second file has one fixed name, so that crashes leave one file behind and not one each.
 */
export async function writeAside<T>(file: string, write: (handle: FileHandle) => Promise<T>): Promise<T> {
  const aside = `${file}.saving`;
  // Removes what a crash left. O_EXCL below: never write through a link that someone placed there.
  await rm(aside, { force: true });
  const handle = await open(aside, O_CREAT | O_EXCL | O_WRONLY, 0o600);
  try {
    const result = await write(handle);
    await handle.sync();
    await renameOwn(handle, aside, file);
    await syncFolder(path.dirname(file));
    return result;
  } catch (error) {
    if (!(error instanceof WrittenByAnotherError)) await rm(aside, { force: true }).catch(() => undefined);
    throw error;
  } finally {
    await handle.close();
  }
}

/** Another sidecar may have replaced this second file by its own unfinished one. */
async function renameOwn(handle: FileHandle, aside: string, file: string): Promise<void> {
  const [own, there] = await Promise.all([handle.stat(), stat(aside).catch(() => undefined)]);
  if (there === undefined || own.ino !== there.ino || own.dev !== there.dev) throw new WrittenByAnotherError();
  await rename(aside, file);
}

/** A rename is durable only when its folder is synced. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } catch {
    // Some network and virtual machine file systems cannot do this; the file itself is written.
  } finally {
    await handle.close();
  }
}
