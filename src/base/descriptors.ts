import { readFileSync } from 'node:fs';
import { opendir, stat } from 'node:fs/promises';
import { attempt } from './attempt.ts';
import { platform } from './platform/platform.ts';

/** Names per read of the folder: ten thousand at once would block the event loop. */
const NAMES_PER_READ = 256;

/** Open descriptors of the process with that `fd` folder, e.g. `/proc/812/fd`; undefined without permission. */
export async function countDescriptors(folder: string): Promise<number | undefined> {
  try {
    // Linux 6.2 and later report the count as the folder's size. With 15,000 descriptors that saves 50 ms of CPU time.
    const { size } = await stat(folder);
    if (size > 0) return size;
    let count = 0;
    for await (const _entry of await opendir(folder, { bufferSize: NAMES_PER_READ })) count += 1;
    // Reading our own folder opens one more.
    return folder.startsWith(`${platform.procPath}/self/`) ? count - 1 : count;
  } catch {
    return undefined;
  }
}

/** How many descriptors the process with that file may open, e.g. `/proc/812/limits`; undefined if unknown. */
export function readMaxDescriptors(file = `${platform.procPath}/self/limits`): number | undefined {
  // Not Linux, no /proc, or no permission.
  const limits = attempt(() => readFileSync(file, 'utf8')) ?? '';
  const [, max] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
  return max === undefined ? undefined : Number(max);
}
