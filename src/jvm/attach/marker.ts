/**
 * The file that makes a JVM take SIGQUIT for a request to open its attach socket. Without it the same signal makes the JVM
 * print all its threads, many screens of them, to its standard output.
 */
import { constants, lstatSync, type Stats, unlinkSync } from 'node:fs';
import { type FileHandle, lstat, open, unlink } from 'node:fs/promises';
import { below, O_PATH, openTmp, toErrno } from './attach-socket.ts';
import type { AttachSystem, AttachTarget } from './attach-target.ts';

export interface Marker {
  /** Whether it still lies there; others may be able to remove it. To be asked right before the signal. */
  isInPlace(): boolean;
  /** Never rejects. */
  remove(): Promise<void>;
  /** For a process that ends before anything asynchronous would. Before `remove`, which is still due. */
  removeNow(): void;
}

const OWNER_ONLY_MODE = 0o600;

/**
 * Makes `.attach_pid<nspid>` in the JVM's working directory or else in its /tmp, where HotSpot looks for it in this order.
 * Gives the reason, for people, where that cannot be done.
 */
export async function placeMarker(pid: number, target: AttachTarget, system: AttachSystem): Promise<Marker | string> {
  const name = `.attach_pid${target.nspid}`;
  const folders = [
    ['the JVM’s working directory', () => open(`${system.procPath}/${pid}/cwd`, O_PATH | constants.O_DIRECTORY)],
    ['the JVM’s /tmp', () => openTmp(target, system)],
  ] as const;
  const reasons: string[] = [];
  for (const [where, openFolder] of folders) {
    let folder: FileHandle | undefined;
    try {
      folder = await openFolder();
      return await placeIn(folder, name, system.uid);
    } catch (cause) {
      await folder?.close();
      const errno = toErrno(cause);
      // Somebody else attaches right now, or has left it. The JVM would look at that one and no further.
      if (errno === 'EEXIST') return `${name} is in ${where} already: if no other program attaches now, remove it`;
      reasons.push(`${where} (${errno})`);
    }
  }
  return `the file ${name} can be made neither in ${reasons.join(' nor in ')}`;
}

/** Keeps the folder open: its name below /proc is gone together with the process, and the file has to go all the same. */
async function placeIn(folder: FileHandle, name: string, uid: number): Promise<Marker> {
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW;
  const path = below(folder, name);
  const file = await open(path, flags, OWNER_ONLY_MODE);
  try {
    const made = await file.stat();
    // The JVM ignores one that is neither its own nor root's, e.g. on NFS that makes root a nobody.
    if (made.uid !== uid) throw Object.assign(new Error('the file is not ours'), { code: 'owner changed' });
    return createMarker(folder, path, made);
  } catch (cause) {
    await unlink(path).catch(() => undefined);
    throw cause;
  } finally {
    await file.close();
  }
}

function createMarker(folder: FileHandle, path: string, made: Stats): Marker {
  // Another program that attaches may have its own there meanwhile: that one is none of ours to remove.
  const isOurs = (found: Stats | undefined) => found?.ino === made.ino && found.dev === made.dev;
  return {
    isInPlace: () => isOurs(lstatSync(path, { throwIfNoEntry: false })),
    remove: async () => {
      try {
        if (isOurs(await lstat(path))) await unlink(path);
      } catch {
        // Somebody was faster: it is gone, and that is all that matters.
      } finally {
        await folder.close();
      }
    },
    removeNow: () => {
      try {
        if (isOurs(lstatSync(path, { throwIfNoEntry: false }))) unlinkSync(path);
      } catch {
        // As above.
      }
    },
  };
}
