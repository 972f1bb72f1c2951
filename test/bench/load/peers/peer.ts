/** One way to stand between clients and an upstream. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Command } from '../processes.ts';

/** What a peer is told when it starts. */
export interface Spot {
  readonly port: number;
  /** For what the peer itself tells: metrics, administration. */
  readonly monitorPort: number;
  readonly upstreamPort: number;
  /** Empty and the peer's own, for its configuration. */
  readonly folder: string;
}

export interface Peer {
  /** For `--only`, e.g. `nginx-lua`. */
  readonly name: string;
  /** For tables, e.g. `nginx + Lua`. */
  readonly title: string;
  /** Debian packages that it needs. */
  readonly packages: readonly string[];
  /** Files that are there when it is installed. */
  readonly needs: readonly string[];
  command(spot: Spot): Command;
  /** Calls that it has counted so far, for those that count. */
  countCalls?(spot: Spot): Promise<number>;
  /** Whether it must have counted all that passed, or nothing. */
  readonly isMeasuring?: boolean;
}

/** Why a peer cannot take part; undefined when it can. */
export function whyMissing(peer: Peer): string | undefined {
  const missing = peer.needs.some((file) => findFile(file) === undefined);
  return missing ? `not installed: apt-get install ${peer.packages.join(' ')}` : undefined;
}

/** The path of a program, looked for as root would; a path is taken as it is. */
export function findFile(file: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/bin'];
  const paths = path.isAbsolute(file) ? [file] : folders.map((folder) => path.join(folder, file));
  return paths.find((candidate) => existsSync(candidate));
}
