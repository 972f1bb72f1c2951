/**
 * Finds a JVM's attach socket, and places the marker file that makes it open one. Every user may write into /tmp, so names there are not trusted: folder and socket are
 * first opened without following links, then checked, and then used only through the open descriptor.
 */
import { constants, lstatSync, type Stats, unlinkSync } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import path from 'node:path';
import { describeErrno } from '../../base/errors.ts';
import type { VisibleJvm } from '../hsperfdata/hsperfdata-source.ts';
import { readProcess } from '../hsperfdata/processes.ts';
import { JvmSourceError } from '../jvm-source.ts';
import type { AttachSystem } from './process-state.ts';

/** Linux: opens the path, not the file. Node has no constant; the value is the same on x86-64 and arm64. */
const O_PATH = 0o10000000;

export type AttachSocket = NonNullable<Awaited<ReturnType<typeof openAttachSocket>>>;

/** Opens e.g. `/proc/812/root/tmp`. Rejects with the system's error, e.g. EACCES. */
export async function openTmp({ rootPath, tmpPath }: VisibleJvm): Promise<FileHandle> {
  // A link in another root would be resolved in our root, where the JVM's socket is not.
  const noFollow = rootPath === '' ? 0 : constants.O_NOFOLLOW;
  return await open(tmpPath, O_PATH | constants.O_DIRECTORY | noFollow);
}

export function below(folder: FileHandle, name: string): string {
  return `/proc/self/fd/${folder.fd}/${name}`;
}

export function socketNameOf({ nspid }: VisibleJvm): string {
  return `.java_pid${nspid}`;
}

/**
 * Undefined if there is no socket (yet). Rejects with D2S_ERR_JVM_ACCESS if it cannot be inspected or is not the JVM's,
 * with D2S_ERR_JVM_GONE if the process used to reach it is no longer the JVM.
 */
export async function openAttachSocket(jvm: VisibleJvm, system: AttachSystem) {
  const name = socketNameOf(jvm);
  const shownPath = path.join(jvm.tmpPath, name);
  const handle = await openSocketFile(jvm, shownPath);
  if (handle === undefined) return undefined;
  let found: Stats;
  try {
    found = await handle.stat();
    const why = whyNotOf(found, jvm);
    if (why !== undefined)
      throw new JvmSourceError('D2S_ERR_JVM_ACCESS', `The attach socket ${shownPath} ${why}; not used.`);
    const { pid, startTicks } = jvm;
    // Since the JVM was found, its pid, and with it `/proc/<pid>/root`, may have passed to another process.
    if (pid !== undefined && startTicks !== undefined && readProcess(system.procPath, pid)?.startTicks !== startTicks)
      throw new JvmSourceError('D2S_ERR_JVM_GONE', `Process ${pid} is no longer the JVM that was found.`);
  } catch (error) {
    await handle.close();
    throw error;
  }
  return {
    /** What to connect to: the socket that was checked, even if its name changes. */
    connectPath: `/proc/self/fd/${handle.fd}`,
    /** Different for each socket, and so for each start of a JVM. */
    identity: `${found.dev}:${found.ino}:${found.ctimeMs}`,
    madeEpochMs: found.ctimeMs,
    close: () => handle.close(),
  };
}

async function openSocketFile(jvm: VisibleJvm, shownPath: string): Promise<FileHandle | undefined> {
  let folder: FileHandle | undefined;
  try {
    folder = await openTmp(jvm);
    // With O_PATH, O_NOFOLLOW opens a link itself, which then fails the check for a socket.
    return await open(below(folder, socketNameOf(jvm)), O_PATH | constants.O_NOFOLLOW);
  } catch (cause) {
    const errno = describeErrno(cause);
    if (errno === 'ENOENT' || errno === 'ESRCH') return undefined;
    throw new JvmSourceError(
      'D2S_ERR_JVM_ACCESS',
      `The attach socket ${shownPath} cannot be inspected (${errno}): the sidecar needs the JVM’s user, its group, its /tmp and ` +
        'at least its capabilities.',
      cause,
    );
  } finally {
    await folder?.close();
  }
}

/**
 * Why it cannot be the socket of that JVM, for messages. HotSpot's socket belongs to its user, is closed to others, and
 * has no second name: a second name may be a link that someone made to another program's socket.
 */
export function whyNotOf(found: Stats, { uid }: VisibleJvm): string | undefined {
  if (!found.isSocket()) return 'is not a socket (links are not followed)';
  if (found.uid !== uid) return `belongs to user ${found.uid}, not to the JVM’s user ${uid}`;
  if ((found.mode & 0o077) !== 0) return 'is open to other users';
  return found.nlink === 1 ? undefined : 'has another name elsewhere';
}

/**
 * The marker file makes a JVM treat SIGQUIT as a request to open its attach socket. Without it the same signal makes
 * the JVM print all its threads, many screens of them, to its standard output.
 */
export type Marker = ReturnType<typeof createMarker>;

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

function createMarker(folder: FileHandle, path: string, made: Stats) {
  /** Whether the file is still there: other users may be able to remove it, and another program may put its own there. */
  const isInPlace = () => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    return found?.ino === made.ino && found.dev === made.dev;
  };
  return {
    /** Check it right before the signal. */
    isInPlace,
    /** Never throws. Synchronous, since the process may be about to exit. */
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
