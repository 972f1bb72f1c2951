/**
 * Finds the attach socket of a JVM. Everybody may write into /tmp, so nothing there is taken for what it is called: folder and
 * socket are opened first, without following links, then looked at, and only then used through what has been opened.
 */
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { JvmSourceError } from '../jvm-source.ts';
import { type AttachSystem, type AttachTarget, hasOurRoot, tmpPathOf } from './attach-target.ts';
import { readProcessState } from './process-state.ts';

/** Linux: a name for the file without opening it. Node has no constant for it; the same on x86-64 and arm64. */
export const O_PATH = 0o10000000;

export interface AttachSocket {
  /** To connect to, e.g. `/proc/self/fd/21`: the very socket that was looked at, whatever its name leads to by now. */
  readonly connectPath: string;
  /** Another one for each socket made, so also for each start of a JVM. */
  readonly identity: string;
  /** ms since 1970. */
  readonly madeEpochMs: number;
  close(): Promise<void>;
}

/** E.g. `/proc/812/root/tmp`. Rejects with what the system says, e.g. EACCES. */
export async function openTmp(target: AttachTarget, system: AttachSystem): Promise<FileHandle> {
  // A link out of another root would be followed in ours: no JVM's socket is there.
  const noFollow = hasOurRoot(target) ? 0 : constants.O_NOFOLLOW;
  return await open(tmpPathOf(target, system), O_PATH | constants.O_DIRECTORY | noFollow);
}

/** A name below an opened folder. */
export function below(folder: FileHandle, name: string): string {
  return `/proc/self/fd/${folder.fd}/${name}`;
}

export function socketNameOf({ nspid }: AttachTarget): string {
  return `.java_pid${nspid}`;
}

/**
 * `undefined` if there is none (yet). Rejects with D2S_ERR_JVM_ACCESS if it cannot be looked at or is not the JVM's, with
 * D2S_ERR_JVM_GONE if it was reached by way of a process that is no longer the JVM's.
 */
export async function openAttachSocket(target: AttachTarget, system: AttachSystem): Promise<AttachSocket | undefined> {
  const name = socketNameOf(target);
  const shownPath = path.join(tmpPathOf(target, system), name);
  const handle = await openSocketFile(target, system, shownPath);
  if (handle === undefined) return undefined;
  let found: Stats;
  try {
    found = await handle.stat();
    const why = whyNotOf(found, target);
    if (why !== undefined)
      throw new JvmSourceError('D2S_ERR_JVM_ACCESS', `The attach socket ${shownPath} ${why}; not used.`);
    checkProcess(target, system);
  } catch (error) {
    await handle.close();
    throw error;
  }
  return {
    connectPath: `/proc/self/fd/${handle.fd}`,
    identity: `${found.dev}:${found.ino}:${found.ctimeMs}`,
    madeEpochMs: found.ctimeMs,
    close: () => handle.close(),
  };
}

async function openSocketFile(
  target: AttachTarget,
  system: AttachSystem,
  shownPath: string,
): Promise<FileHandle | undefined> {
  let folder: FileHandle | undefined;
  try {
    folder = await openTmp(target, system);
    // With O_PATH, O_NOFOLLOW opens a link itself, which is then not a socket.
    return await open(below(folder, socketNameOf(target)), O_PATH | constants.O_NOFOLLOW);
  } catch (cause) {
    const errno = toErrno(cause);
    if (errno === 'ENOENT' || errno === 'ESRCH') return undefined;
    throw new JvmSourceError(
      'D2S_ERR_JVM_ACCESS',
      `The attach socket ${shownPath} cannot be looked at (${errno}): the sidecar needs the JVM’s user, its group, its /tmp and ` +
        'at least its capabilities.',
      cause,
    );
  } finally {
    await folder?.close();
  }
}

/**
 * Why it cannot be the socket of that JVM, for people. HotSpot gives it to its own user, keeps everybody else out, and has no
 * second name for it: with one, it may be somebody's link to a socket of another program.
 */
export function whyNotOf(found: Stats, { uid }: AttachTarget): string | undefined {
  if (!found.isSocket()) return 'is not a socket (links are not followed)';
  if (found.uid !== uid) return `belongs to user ${found.uid}, not to the JVM’s user ${uid}`;
  if ((found.mode & 0o077) !== 0) return 'is open to other users';
  return found.nlink === 1 ? undefined : 'has another name elsewhere';
}

/** Its pid may have become another's, and with it `/proc/<pid>/root`, since the JVM was found. */
function checkProcess({ pid, startTicks }: AttachTarget, { procPath }: AttachSystem): void {
  if (pid === undefined || startTicks === undefined) return;
  if (readProcessState(procPath, pid)?.startTicks === startTicks) return;
  throw new JvmSourceError('D2S_ERR_JVM_GONE', `Process ${pid} is no longer the JVM that was found.`);
}

/** `EACCES`, or what there is. */
export function toErrno(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
}
