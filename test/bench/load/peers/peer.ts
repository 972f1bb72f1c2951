import { existsSync } from 'node:fs';
import path from 'node:path';
import { CertificateFolder, type Pair } from '../../../support/tls/certificates.ts';
import type { Command } from '../processes.ts';

export interface Spot {
  readonly port: number;
  /** For the peer's own port: metrics, administration. */
  readonly monitorPort: number;
  readonly upstreamPort: number;
  /** An empty folder for the peer's configuration. */
  readonly folder: string;
}

export interface Peer {
  /** For `--only`, e.g. `nginx-lua`. */
  readonly name: string;
  /** For tables, e.g. `nginx + Lua`. */
  readonly title: string;
  readonly packages?: readonly string[];
  /** Files that exist when it is installed; by default, programs with the names of the packages. */
  readonly needs?: readonly string[];
  command(spot: Spot): Command;
  /** Its count of calls so far, if it counts. */
  countCalls?(spot: Spot): Promise<number>;
  /** Whether it must have counted all calls, or none. */
  readonly isMeasuring?: boolean;
}

/** Why a peer cannot take part; undefined if it can. */
export function whyMissing({ packages = [], needs = packages }: Peer): string | undefined {
  const isMissing = needs.some((file) => findFile(file) === undefined);
  return isMissing ? `not installed: apt-get install ${packages.join(' ')}` : undefined;
}

/** A certificate with an RSA key of 2048 bits, as files in `folder`. */
export function certificateIn(folder: string): Pair {
  const certificates = new CertificateFolder(folder);
  return certificates.signed(certificates.authority(), { name: 'plant.example', key: 'rsa' });
}

/** The path of a program, searched as root would; a path is returned unchanged. */
export function findFile(file: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/bin'];
  const paths = path.isAbsolute(file) ? [file] : folders.map((folder) => path.join(folder, file));
  return paths.find((candidate) => existsSync(candidate));
}
