import { cpuUsOf, residentBytesOfTree } from '../../../support/load/proc.ts';
import type { Peer } from '../peers/peer.ts';
import { figure, type Read, ratio, type Sample } from '../results.ts';
import type { Rig, Running, UpstreamKind } from '../rig.ts';
import { type Load, runWrk } from '../wrk.ts';

export interface Contestant {
  /** In results; the peer's name unless the peer takes part more than once. */
  readonly name: string;
  readonly title: string;
  /** Undefined: the upstream itself. */
  readonly peer: Peer | undefined;
  /** Contestants of the same key share a process; default: the name. */
  readonly processKey?: string;
}

export interface Turn {
  readonly rig: Rig;
  readonly running: Running;
  readonly contestant: Contestant;
  readonly seconds: number;
}

export interface Column {
  readonly title: string;
  readonly digits: number;
  read(name: string): Read;
}

export interface Target {
  readonly text: string;
  readonly bound: 'at most' | 'at least';
  readonly limit: number;
  readonly digits: number;
  readonly read: Read;
}

export interface Workload {
  readonly name: string;
  readonly title: string;
  readonly how: string;
  readonly upstream: UpstreamKind;
  readonly contestants: readonly Contestant[];
  /** A new process for each measurement. */
  readonly isFresh?: boolean;
  readonly columns: readonly Column[];
  readonly targets: readonly Target[];
  /** Once for each process, before its first measurement. */
  prepare?(turn: Turn): Promise<void>;
  measure(turn: Turn): Promise<Sample>;
  /** After the last measurement; throws if the process did not do its task. */
  inspect?(turn: Turn): Promise<void>;
}

export const SIDECAR_NAME = 'sidecar';

/** The sidecar relative to a peer: below 1 it needs less. */
export function sidecarTo(other: string, key: string): Read {
  return ratio(figure(SIDECAR_NAME, key), figure(other, key));
}

export function column(key: string, title: string, digits = 1): Column {
  return { title, digits, read: (name) => figure(name, key) };
}

export const CPU = column('cpuUs', 'processor µs/request');
export const PER_SECOND = column('perSecond', 'requests/s', 0);
export const P50 = column('p50Ms', 'p50 ms', 2);
export const P99 = column('p99Ms', 'p99 ms', 2);
export const P99_BEFORE = column('p99BeforeMs', 'p99 before ms', 2);
export const MEMORY = column('rssMb', 'memory MB');

export function atMost(limit: number, text: string, read: Read, digits = 2): Target {
  return { text, bound: 'at most', limit, digits, read };
}

export function toContestants(peers: readonly Peer[]): Contestant[] {
  return peers.map((peer) => ({ name: peer.name, title: peer.title, peer }));
}

/** `port`: where the load goes, if not to the contestant itself. */
export async function measureLoad({ rig, running, seconds }: Turn, load: Load, port = running.spot.port) {
  const before = cpuUsOf(running.pid);
  const { requests, durationUs, errors, p50Us, p99Us } = await runWrk(rig.processes, port, load, seconds);
  const cpuUs = cpuUsOf(running.pid) - before;
  if (requests === 0) throw new Error('answered no request at all');
  return {
    ...{ requests, errors, cpuUs: cpuUs / requests, perSecond: requests / (durationUs / 1e6) },
    ...{ p50Ms: p50Us / 1_000, p99Ms: p99Us / 1_000, rssMb: residentMb(running.pid) },
  };
}

export function residentMb(pid: number): number {
  return residentBytesOfTree(pid) / 2 ** 20;
}
