import { networkInterfaces } from 'node:os';

/** An IPv4 address of this machine that is not loopback, for clients that bind to it; undefined without one. */
export const OUTSIDE_ADDRESS: string | undefined = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
