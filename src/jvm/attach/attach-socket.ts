/**
 * Finds a JVM's attach socket. Every user may write into /tmp, so names there are not trusted: folder and socket are
 * first opened without following links, then checked, and then used only through the open descriptor.
 */

import { constants, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { describeErrno } from '../../base/errors.ts';
import { readProcess } from '../hsperfdata/processes.ts';
import type { VisibleJvm } from '../hsperfdata/visible-jvm.ts';
import { JvmSourceError } from '../jvm-source.ts';
import type { AttachSystem } from './process-state.ts';

/** Linux: opens the path, not the file. Node has no constant; the value is the same on x86-64 and arm64. */
export const O_PATH = 0o10000000;

export interface AttachSocket {
  /** What to connect to, e.g. `/proc/self/fd/21`: the socket that was checked, even if its name changes. */
  readonly connectPath: string;
  /** Different for each socket, and so for each start of a JVM. */
  readonly identity: string;
  /** Milliseconds since 1970. */
  readonly madeEpochMs: number;
  close(): Promise<void>;
}

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
export async function openAttachSocket(jvm: VisibleJvm, system: AttachSystem): Promise<AttachSocket | undefined> {
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
    checkProcess(jvm, system);
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

/** Since the JVM was found, its pid, and with it `/proc/<pid>/root`, may have passed to another process. */
function checkProcess({ pid, startTicks }: VisibleJvm, { procPath }: AttachSystem): void {
  if (pid === undefined || startTicks === undefined) return;
  if (readProcess(procPath, pid)?.startTicks === startTicks) return;
  throw new JvmSourceError('D2S_ERR_JVM_GONE', `Process ${pid} is no longer the JVM that was found.`);
}
