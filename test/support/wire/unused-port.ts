import { freePorts } from '../../bench/load/ports.ts';

/** A port on loopback without a listener: it was free a moment ago. */
export async function toUnusedPort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}
