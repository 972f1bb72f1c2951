import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

const LINE_FEED = 0x0a;
/** Non-blocking, because another user may have replaced the file by a FIFO. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * Whether the file of `bytes` ends with a whole line; true for an empty file. Also true when it cannot be read, e.g.
 * when it is write-only: two lines may then become one, which is better than writing none.
 */
export async function endsWithLine(path: string, bytes: number): Promise<boolean> {
  if (bytes === 0) return true;
  try {
    const handle = await open(path, OPEN_FLAGS);
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
