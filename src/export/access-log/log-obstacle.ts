/** Looks at the file of the access log before anything is written to it. */
import { constants, type Stats } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import path from 'node:path';
import { platform } from '../../base/platform/platform.ts';
import {
  describeFileError,
  findFolderObstacle,
  isTrustedOwner,
  openTrusted,
  resolveTrusted,
  trustedOwners,
  UntrustedFileError,
} from '../../base/trusted-file.ts';

const OTHERS_WRITE = 0o002;

/**
 * Why the access log cannot be written, as far as that is known without writing; undefined if nothing prevents it. A
 * FIFO or a device is not opened, since its reader would see an end of file.
 */
export async function findLogObstacle(file: string): Promise<string | undefined> {
  try {
    const there = await stat(file).catch(() => undefined);
    if (there === undefined) return await findFolderObstacle(path.dirname((await resolveTrusted(file)).realPath));
    if (there.isDirectory()) return `${file} is a folder`;
    if (!there.isFile()) {
      await access(file, constants.W_OK);
      return undefined;
    }
    const { handle, realPath } = await openTrusted(file, constants.O_WRONLY | constants.O_APPEND);
    try {
      await checkOwner(realPath, await handle.stat());
    } finally {
      await handle.close();
    }
    return undefined;
  } catch (error) {
    return `${file}: ${describeFileError(error)}`;
  }
}

/**
 * Rejects with UntrustedFileError for a file that another user could have planted: they could read who calls what,
 * or change it. A FIFO may belong to its reader, unless its folder is writable by all.
 */
export async function checkOwner(realPath: string, stats: Stats): Promise<void> {
  const permissions = platform.permissionsOf(stats.mode);
  if (stats.isFile() && (permissions & OTHERS_WRITE) !== 0) {
    const mode = permissions.toString(8).padStart(4, '0');
    throw new UntrustedFileError(`every user of this machine may write to it (mode ${mode}), expected 0600 or 0640`);
  }
  if (isTrustedOwner(stats.uid)) return;
  const isOpenFolder = ((await stat(path.dirname(realPath))).mode & OTHERS_WRITE) !== 0;
  if (stats.isFile() || (stats.isFIFO() && isOpenFolder))
    throw new UntrustedFileError(`it belongs to uid ${stats.uid}, expected ${trustedOwners()}`);
}

const LINE_FEED = 0x0a;

/**
 * Whether the file of `bytes` ends with a whole line; true for an empty file. Also true when it cannot be read, e.g.
 * when it is write-only: two lines may then become one, which is better than writing none.
 */
export async function endsWithLine(file: string, bytes: number): Promise<boolean> {
  if (bytes === 0) return true;
  try {
    // Another user may have replaced the file by a FIFO.
    const handle = await open(file, constants.O_RDONLY | platform.noWaitFlags);
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, bytes - 1);
      return bytesRead === 0 || buffer[0] === LINE_FEED;
    } finally {
      await handle.close();
    }
  } catch {
    return true;
  }
}
