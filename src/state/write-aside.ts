import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';

const { O_CREAT, O_EXCL, O_WRONLY } = constants;

/** Somebody else is writing the same file. */
export class WrittenByAnotherError extends Error {
  readonly code = 'EANOTHER';
}

/**
 * Writes a file so that at any moment, and after any crash, there is the old one or the new one, whole: beside it, to the disk,
 * then renamed. Mode 0600. Always beside by the same name, so that crashes leave one file behind and not one each.
 */
export async function writeAside<T>(file: string, write: (handle: FileHandle) => Promise<T>): Promise<T> {
  const aside = `${file}.saving`;
  // What a crash has left. Created anew, not opened: never through a link that somebody has put there.
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

/** Another sidecar with the same file may have removed this one and begun its own, half of which would be renamed. */
async function renameOwn(handle: FileHandle, aside: string, file: string): Promise<void> {
  const [own, there] = await Promise.all([handle.stat(), stat(aside).catch(() => undefined)]);
  if (there === undefined || own.ino !== there.ino || own.dev !== there.dev) throw new WrittenByAnotherError();
  await rename(aside, file);
}

/** The new name is on the disk only when the folder is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } catch {
    // Some file systems of networks and of virtual machines cannot; the file itself has been written.
  } finally {
    await handle.close();
  }
}
