import type { Peer } from '../peers/peer.ts';
import type { Read, Result, Sample } from '../results.ts';
import type { Rig, Running, UpstreamKind } from '../rig.ts';

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
  /** Notes about the process after its last measurement, e.g. that it did not do its task. */
  inspect?(turn: Turn): Promise<string[]>;
}

export interface Measured {
  readonly workload: Workload;
  readonly result: Result;
}

export function atMost(limit: number, text: string, read: Read, digits = 2): Target {
  return { text, bound: 'at most', limit, digits, read };
}

export const DIRECT: Contestant = { name: 'direct', title: 'direct (the upstream itself)', peer: undefined };

export function toContestants(peers: readonly Peer[]): Contestant[] {
  return peers.map((peer) => ({ name: peer.name, title: peer.title, peer }));
}
