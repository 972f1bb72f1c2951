import { readFileSync } from 'node:fs';

/** Each client connection has one upstream connection. */
const DESCRIPTORS_PER_CONNECTION = 2;

/**
 * Reserved for everything else. A started sidecar has some 25 descriptors open, and the monitoring port, the control
 * socket, the JVM's files and the log must still get theirs when all connections are in use.
 */
const RESERVED_DESCRIPTORS = 64;

/** How many descriptors the process may open, from /proc; undefined if unknown. */
export function openFilesLimit(): number | undefined {
  try {
    const line = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
    return line === null ? undefined : Number(line[1]);
  } catch {
    // Not Linux, or no /proc: then there is no warning.
    return undefined;
  }
}

export function descriptorsFor(maxConnections: number): number {
  return maxConnections * DESCRIPTORS_PER_CONNECTION;
}

/** How many clients `descriptors` suffice for; at least 1. */
export function connectionsFor(descriptors: number): number {
  return Math.max(1, Math.floor((descriptors - RESERVED_DESCRIPTORS) / DESCRIPTORS_PER_CONNECTION));
}
