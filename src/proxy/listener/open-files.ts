/** Each client connection has one upstream connection. */
const DESCRIPTORS_PER_CONNECTION = 2;

/**
 * Reserved for everything else. A started sidecar has some 25 descriptors open. The monitoring port, the control
 * socket, the JVM's files and the log still need descriptors when all connections are in use.
 */
const RESERVED_DESCRIPTORS = 64;

export function descriptorsFor(maxConnections: number): number {
  return maxConnections * DESCRIPTORS_PER_CONNECTION;
}

/** How many clients `descriptors` suffice for; at least 1. */
export function connectionsFor(descriptors: number): number {
  return Math.max(1, Math.floor((descriptors - RESERVED_DESCRIPTORS) / DESCRIPTORS_PER_CONNECTION));
}
