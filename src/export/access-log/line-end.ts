import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

const LINE_FEED = 0x0a;
/** Another user may have put a FIFO in its place by now. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * Whether the file of `bytes` ends with a whole line, as one that is empty does. Also true where nobody can tell, e.g. of a file that
 * may only be written: then two lines may become one, which is better than none at all.
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
