/** Floods that nobody has written: each kind of piece alone, against sidecars of their own, whose processor time is its cost. */
import { readFileSync } from 'node:fs';
import type net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from '../../bench/load/ports.ts';
import { progress } from '../../bench/load/processes.ts';
import { renderTable } from '../../bench/load/report.ts';
import { parseStat } from '../../support/load/proc.ts';
import { type SidecarParts, SidecarProcess } from '../../support/load/sidecar.ts';
import { Attacker } from '../attacker/attacker.ts';
import { open } from '../floods/websockets.ts';
import { settingsOf } from '../run/settings.ts';
import { allKinds, groupOf, type Kind, ONE_FIELD } from './kinds.ts';

interface Cost {
  readonly kind: Kind;
  /** Of one request, or of what was sent in one go. */
  readonly bytes: number;
  readonly msEach: number;
  readonly msPerMegabyte: number;
  readonly hasEnded: boolean;
}

const MS_PER_MINUTE = 60_000;
const PROGRESS_EVERY_MS = 5_000;
const ANSWER_TIMEOUT_MS = 3_000;
const LEAST_MS = 150;
const USUAL_MS = 2_000;
const WARM_UP_MS = 1_000;
/** A slow kind is sent a few times, unless that takes several times as long. */
const LEAST_COUNT = 8;
const MOST_TIMES = 4;
const SHOWN = 15;
/** A smaller request counts as one of this size: else the dearest would be those with the smallest bodies. */
const LEAST_BYTES = 60_000;

type Ground = Omit<SidecarParts, 'port' | 'monitorPort'>;

export async function generate(minutes: number, ground: Ground): Promise<string> {
  const targets = new Targets(ground);
  const endMs = performance.now() + minutes * MS_PER_MINUTE;
  const kinds = shuffled(allKinds());
  const eachMs = Math.max(LEAST_MS, (minutes * MS_PER_MINUTE) / kinds.length);
  const costs: Cost[] = [];
  let toldMs = performance.now();
  for (const kind of kinds) {
    if (performance.now() > endMs) break;
    costs.push(await targets.measure(kind, eachMs));
    if (performance.now() - toldMs < PROGRESS_EVERY_MS) continue;
    toldMs = performance.now();
    const [most] = dearestOf(costs);
    const dearest = `dearest ${most?.msPerMegabyte.toFixed(0)} ms/MB: ${most?.kind.name}`;
    progress(`${costs.length} of ${kinds.length}; ${dearest}`);
  }
  const usual = await targets.measure(kinds.find(({ name }) => name === ONE_FIELD) as Kind, USUAL_MS);
  await targets.end();
  const rows = [...dearestOf(costs).slice(0, SHOWN), usual].map(({ kind, bytes, msEach, msPerMegabyte, hasEnded }) => [
    `\`${kind.name}\``,
    (bytes / 1_000).toFixed(1),
    msEach.toFixed(2),
    hasEnded ? 'ENDED THE PROCESS' : msPerMegabyte.toFixed(1),
  ]);
  const title = `${costs.length} of ${kinds.length} kinds were measured. The last row is for comparison.`;
  return `${title}\n\n${renderTable(['kind', 'kB each', 'ms each', 'ms for each MB'], rows)}\n`;
}

/** Of each group only the dearest: the members of a list often cost alike. */
function dearestOf(costs: readonly Cost[]): Cost[] {
  const all = costs.toSorted((a, b) => Number(b.hasEnded) - Number(a.hasEnded) || b.msPerMegabyte - a.msPerMegabyte);
  const groups = all.map(({ kind }) => groupOf(kind));
  return all.filter((_, nth) => groups.indexOf(groups[nth] ?? '') === nth);
}

/** A sidecar for each listener, started when it is needed and after its end. */
class Targets {
  readonly #ground: Ground;
  readonly #sidecars = new Map<Kind['listener'], { readonly port: number; readonly sidecar: SidecarProcess }>();

  constructor(ground: Ground) {
    this.#ground = ground;
  }

  async measure(kind: Kind, forMs: number): Promise<Cost> {
    const { port, sidecar } = await this.#targetOf(kind.listener);
    const attacker = new Attacker({ port, monitorPort: 0, isShort: false, folder: this.#ground.folder });
    const bytes = kind.build();
    const [beganUs, endMs] = [cpuUsOf(sidecar), performance.now() + forMs];
    let count = 0;
    const send = senderOf(kind, bytes, attacker);
    const lastMs = endMs + (MOST_TIMES - 1) * forMs;
    const isEnough = () => performance.now() > (count < LEAST_COUNT ? lastMs : endMs);
    for (; !isEnough() && !sidecar.hasEnded; count += 1) await send();
    const sentBytes = kind.how === 'tunnel' ? attacker.cost.bytes : count * Math.max(LEAST_BYTES, bytes.length);
    const ms = (cpuUsOf(sidecar) - beganUs) / 1_000;
    attacker.stop();
    const figures = { msEach: ms / count, msPerMegabyte: (ms * 1e6) / sentBytes };
    return { kind, bytes: bytes.length, ...figures, hasEnded: sidecar.hasEnded };
  }

  async end(): Promise<void> {
    await Promise.all([...this.#sidecars.values()].map(({ sidecar }) => sidecar.end('SIGTERM')));
  }

  async #targetOf(listener: Kind['listener']) {
    const known = this.#sidecars.get(listener);
    if (known !== undefined && !known.sidecar.hasEnded) return known;
    const [port = 0, monitorPort = 0] = await freePorts(2);
    const settings = settingsOf(this.#ground.folder, { clientAddress: listener });
    const sidecar = await SidecarProcess.start({ ...this.#ground, port, monitorPort }, settings);
    const target = { port, sidecar };
    this.#sidecars.set(listener, target);
    // Its code is compiled while it runs.
    const [usual] = allKinds();
    if (usual !== undefined && listener !== 'proxy-protocol') await this.measure({ ...usual, listener }, WARM_UP_MS);
    return target;
  }
}

/** Sends a kind once for each call of the function that it returns. */
function senderOf({ how }: Kind, bytes: Buffer, attacker: Attacker): () => Promise<void> {
  let socket: net.Socket | undefined;
  const connect = () => (how === 'tunnel' ? open(attacker, true) : attacker.connect());
  return async () => {
    if (socket?.writable !== true) socket = await connect();
    if (socket === undefined) return;
    const sent = how === 'tunnel' ? attacker.write(socket, bytes) : attacker.ask(socket, bytes).then(() => true);
    const isAnswered = await Promise.race([sent, sleep(ANSWER_TIMEOUT_MS, false, { ref: false })]);
    if (how !== 'connection' && isAnswered) return;
    socket.destroy();
    socket = undefined;
  };
}

function cpuUsOf({ pid, hasEnded }: SidecarProcess): number {
  return hasEnded ? 0 : parseStat(readFileSync(path.join('/proc', String(pid), 'stat'), 'latin1')).cpuUs;
}

function shuffled<T>(values: readonly T[]): T[] {
  return values
    .map((value) => ({ value, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value);
}
