/**
 * The file that makes a JVM take SIGQUIT for a request to open its attach socket. Without it the same signal makes the JVM
 * print all its threads, many screens of them, to its standard output.
 */
import { constants } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { below, O_PATH, openTmp, toErrno } from './attach-socket.ts';
import type { AttachSystem, AttachTarget } from './attach-target.ts';

export interface Marker {
  remove(): Promise<void>;
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
  const file = await open(below(folder, name), flags, OWNER_ONLY_MODE);
  const marker: Marker = {
    remove: async () => {
      try {
        await unlink(below(folder, name));
      } catch {
        // Somebody was faster: it is gone, and that is all that matters.
      } finally {
        await folder.close();
      }
    },
  };
  try {
    const { uid: owner } = await file.stat();
    // The JVM ignores one that is neither its own nor root's, e.g. on NFS that makes root a nobody.
    if (owner === uid) return marker;
  } finally {
    await file.close();
  }
  // Without marker.remove(), which would close the folder that the caller closes.
  await unlink(below(folder, name));
  throw Object.assign(new Error('the file is not ours'), { code: 'owner changed' });
}
