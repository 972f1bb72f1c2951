/**
 * The marker file makes a JVM treat SIGQUIT as a request to open its attach socket. Without it the same signal makes
 * the JVM print all its threads, many screens of them, to its standard output.
 */
import { constants, lstatSync, type Stats, unlinkSync } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { describeErrno } from '../../base/errors.ts';
import type { VisibleJvm } from '../hsperfdata/visible-jvm.ts';
import { below, O_PATH, openTmp } from './attach-socket.ts';
import type { AttachSystem } from './process-state.ts';

export interface Marker {
  /** Whether the file is still there; other users may be able to remove it. Check it right before the signal. */
  isInPlace(): boolean;
  /** Never throws. Synchronous, since the process may be about to exit. */
  remove(): void;
  close(): Promise<void>;
}

const OWNER_ONLY_MODE = 0o600;

/**
 * Creates `.attach_pid<nspid>` in the JVM's working directory, or else in its /tmp; HotSpot looks in this order.
 * Returns the reason, for messages, if neither works.
 */
export async function placeMarker(pid: number, jvm: VisibleJvm, system: AttachSystem): Promise<Marker | string> {
  const name = `.attach_pid${jvm.nspid}`;
  const folders = [
    ['the JVM’s working directory', () => open(`${system.procPath}/${pid}/cwd`, O_PATH | constants.O_DIRECTORY)],
    ['the JVM’s /tmp', () => openTmp(jvm)],
  ] as const;
  const reasons: string[] = [];
  for (const [where, openFolder] of folders) {
    let folder: FileHandle | undefined;
    try {
      folder = await openFolder();
      return await placeIn(folder, name, system.uid);
    } catch (cause) {
      await folder?.close();
      const errno = describeErrno(cause);
      // Another program is attaching now, or left its file behind. The JVM would check that file and look no further.
      if (errno === 'EEXIST') return `${name} already exists in ${where}: if no other program is attaching, remove it`;
      reasons.push(`${where} (${errno})`);
    }
  }
  return `the file ${name} can be created neither in ${reasons.join(' nor in ')}`;
}

/** Keeps the folder open: its path below /proc disappears with the process, but the file must still be removed. */
async function placeIn(folder: FileHandle, name: string, uid: number): Promise<Marker> {
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW;
  const path = below(folder, name);
  const file = await open(path, flags, OWNER_ONLY_MODE);
  try {
    const made = await file.stat();
    // The JVM ignores a file that is neither its user's nor root's, e.g. on NFS, which maps root to nobody.
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
  // Another attaching program may have put its own file there meanwhile. That file is not removed.
  const isInPlace = () => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    return found?.ino === made.ino && found.dev === made.dev;
  };
  return {
    isInPlace,
    remove: () => {
      try {
        if (isInPlace()) unlinkSync(path);
      } catch {
        // Another program removed it first: nothing to do.
      }
    },
    close: () => folder.close(),
  };
}
