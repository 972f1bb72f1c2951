import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import path from 'node:path';
import { describeFileError, findFolderObstacle, openTrusted, resolveTrusted } from '../../base/trusted-file.ts';
import { checkOwner } from './line-file.ts';

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
