import type net from 'node:net';
import { type Fields, toHead } from '../../support/load/heads.ts';
import type { Attacker } from '../attacker/attacker.ts';
import { ATTACKER_CREDENTIAL } from '../plant.ts';

export interface Flood {
  readonly name: string;
  readonly what: string;
  /** `pkcs12`: `tls` with a PKCS #12 file. `monitor`: that port requires passwords, and an honest reader is measured, too. */
  readonly setting?: 'tls' | 'monitor' | 'pkcs12';
  /** The attacker is a trusted proxy, which names clients in this way. Some paths are denied. */
  readonly clientAddress?: 'x-forwarded-for' | 'forwarded' | 'proxy-protocol';
  /** Permitted growth of memory; without it, up to the limit of the cgroup. */
  readonly maxGrowthBytes?: number;
  readonly maxSessions?: number;
  /** By how much the others' slowest call may exceed that in calm (200 ms); more where accepting hundreds of connections takes its time. */
  readonly worstPlusMs?: number;
  /** Extra time for a read of the monitoring port, beyond the other bounds. */
  readonly monitorWaitMs?: number;
  /** Runs until `attacker.isOn` is false; then open connections are reset. */
  attack(attacker: Attacker): Promise<void>;
}

export type Floods = Readonly<Record<string, Omit<Flood, 'name'>>>;

/** The fields by which the upstream recognises the attacker. */
export const KNOWN: Fields = { Authorization: ATTACKER_CREDENTIAL };

export function toPost(path: string, body: Uint8Array, fields: Fields = {}): Buffer {
  return Buffer.concat([Buffer.from(toHead(`POST ${path}`, { ...fields, 'Content-Length': body.length })), body]);
}

interface Many {
  readonly full: number;
  readonly short?: number;
  readonly from?: string;
  readonly act: (attacker: Attacker, socket: net.Socket, nth: number) => unknown;
  readonly meanwhile?: (attacker: Attacker, sockets: readonly net.Socket[]) => Promise<void>;
}

/** Does the same on many connections at once, and keeps them open. */
export function onMany({ full, short = full, from, act, meanwhile }: Many): Flood['attack'] {
  return async (attacker) => {
    const sockets = await attacker.connectMany(attacker.count(full, short), { from });
    await Promise.all(sockets.map((socket, nth) => act(attacker, socket, nth)));
    await meanwhile?.(attacker, sockets);
    await attacker.untilEnd();
  };
}

/** Writes the same on each connection, piece after piece, until one is not accepted. */
export function writing(...pieces: readonly (string | Uint8Array)[]): Many['act'] {
  return async (attacker, socket) => {
    for (const piece of pieces) if (!(await attacker.write(socket, piece))) return;
  };
}
