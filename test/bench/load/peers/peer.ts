/** A proxy between clients and an upstream. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Command } from '../processes.ts';

export interface Spot {
  readonly port: number;
  /** For the peer's own port: metrics, administration. */
  readonly monitorPort: number;
  readonly upstreamPort: number;
  readonly folder: string;
}

export interface Peer {
  readonly name: string;
  readonly title: string;
  readonly packages: readonly string[];
  readonly needs: readonly string[];
  command(spot: Spot): Command;
  countCalls?(spot: Spot): Promise<number>;
  /** Whether it must have counted all calls, or none. */
  readonly isMeasuring?: boolean;
}

export function whyMissing(peer: Peer): string | undefined {
  const missing = peer.needs.some((file) => findFile(file) === undefined);
  return missing ? `not installed: apt-get install ${peer.packages.join(' ')}` : undefined;
}

/** The path of a program, searched as root would; a path is returned unchanged. */
export function findFile(file: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/bin'];
  const paths = path.isAbsolute(file) ? [file] : folders.map((folder) => path.join(folder, file));
  return paths.find((candidate) => existsSync(candidate));
}
