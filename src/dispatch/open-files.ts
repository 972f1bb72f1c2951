import { readFileSync } from 'node:fs';

/** Each client connection has one to the upstream. */
const DESCRIPTORS_PER_CONNECTION = 2;

/** How many descriptors the process may open, from /proc; undefined where that is not told. */
export function openFilesLimit(): number | undefined {
  try {
    const line = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
    return line === null ? undefined : Number(line[1]);
  } catch {
    // Not Linux, or no /proc: then nobody is warned.
    return undefined;
  }
}

/** Descriptors that `maxConnections` clients take. */
export function descriptorsFor(maxConnections: number): number {
  return maxConnections * DESCRIPTORS_PER_CONNECTION;
}
