/**
 * The folder of control sockets. A user who can write into it can replace a socket, so only its owner
 * may write there. The socket's own mode then keeps other users from connecting.
 */
import { once } from 'node:events';
import { lstatSync, mkdirSync, readdirSync, rmSync, type Stats } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describeErrno, isErrno } from '../../base/errors.ts';
import { platform } from '../../base/platform/platform.ts';
import { ControlError } from './protocol.ts';

const FOLDER_PREFIX = 'd2-sidecar-';
const PRIVATE_FOLDER_MODE = 0o700;
const GROUP_OR_OTHERS_WRITE = 0o022;

/** `/tmp/d2-sidecar-1000`: one for each user, for all sidecars of that user. */
export function defaultFolder(): string {
  return path.join(tmpdir(), `${FOLDER_PREFIX}${platform.userId() ?? 'user'}`);
}

/** The folders of all users that belong to whom their name says. For root: others may not look into them. */
export function foldersOfUsers(parent: string = tmpdir()): readonly string[] {
  return readdirSync(parent)
    .filter((name) => /^\d+$/.test(name.slice(FOLDER_PREFIX.length)) && name.startsWith(FOLDER_PREFIX))
    .map((name) => path.join(parent, name))
    .filter((folder) => {
      const found = lstatSync(folder, { throwIfNoEntry: false });
      const isOwners = found?.uid === Number(folder.slice(folder.lastIndexOf('-') + 1));
      return (
        found?.isDirectory() === true && isOwners && (platform.permissionsOf(found.mode) & GROUP_OR_OTHERS_WRITE) === 0
      );
    });
}

export function defaultSocketPath(pid: number, folder: string = defaultFolder()): string {
  return path.join(folder, `${pid}.sock`);
}

/** Creates a missing folder, but not its parent. Throws D2S_ERR_CONTROL unless only this user can write to it. */
export function makePrivateFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: PRIVATE_FOLDER_MODE });
  } catch (cause) {
    if (!isErrno(cause, 'EEXIST')) {
      throw new ControlError(`${folder} cannot be created: ${describeErrno(cause)}`, cause);
    }
  }
  checkPrivateFolder(folder);
}

/** Whether the folder is there. Throws D2S_ERR_CONTROL if others than this user can write to it. */
export function checkPrivateFolder(folder: string): boolean {
  // lstat: the owner of a link, even of one to our folder, could point it elsewhere later.
  const found = inspect(folder);
  if (found === undefined) return false;
  const owner = platform.userId();
  if (!found.isDirectory()) throw new ControlError(`${folder} is not a folder (links are not followed)`);
  const isOurs = owner === undefined || found.uid === owner;
  if (isOurs && (platform.permissionsOf(found.mode) & GROUP_OR_OTHERS_WRITE) === 0) return true;
  throw new ControlError(
    `${folder} must belong to user ${owner} and not be writable by others; a missing folder is created with mode 0700`,
  );
}

/** Removes the socket of a dead process, which would block a new one. */
export async function removeStale(socketPath: string): Promise<void> {
  const found = inspect(socketPath);
  if (found === undefined) return;
  if (!platform.isControlFile(found)) throw new ControlError(`${socketPath} exists and is not a socket`);
  if (await isListening(socketPath)) throw new ControlError(`${socketPath} is in use by another process`);
  rmSync(socketPath, { force: true });
}

/** Undefined if there is no such file. */
function inspect(file: string): Stats | undefined {
  try {
    return lstatSync(file, { throwIfNoEntry: false });
  } catch (cause) {
    throw new ControlError(`${file} cannot be inspected: ${describeErrno(cause)}`, cause);
  }
}

export async function isListening(socketPath: string): Promise<boolean> {
  const socket = net.connect(platform.controlAddressOf(socketPath));
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    if (isErrno(error, 'ECONNREFUSED') || isErrno(error, 'ENOENT')) return false;
    throw error;
  } finally {
    socket.destroy();
  }
}
