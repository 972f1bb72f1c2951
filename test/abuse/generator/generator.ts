/** Floods that nobody has written: each kind of piece alone, against sidecars of their own, whose processor time is its cost. */
import type net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from '../../bench/load/ports.ts';
import { progress } from '../../bench/load/processes.ts';
import { cpuUsOf } from '../../support/load/proc.ts';
import { type SidecarParts, SidecarProcess } from '../../support/load/sidecar.ts';
import { Attacker } from '../attacker/attacker.ts';
import { open } from '../floods/websockets.ts';
import { settingsOf } from '../run/settings.ts';
import { allKinds, groupOf, type Kind, ONE_FIELD } from './kinds.ts';

const MS_PER_MINUTE = 60_000;
const PROGRESS_EVERY = 50;
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
type Cost = Awaited<ReturnType<Targets['measure']>>;

/** Prints the dearest kinds, of each group one: the members of a list often cost alike. The last row is for comparison. */
export async function generate(minutes: number, ground: Ground): Promise<void> {
  const targets = new Targets(ground);
  const endMs = performance.now() + minutes * MS_PER_MINUTE;
  const kinds = allKinds()
    .map((kind) => ({ kind, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ kind }) => kind);
  const eachMs = Math.max(LEAST_MS, (minutes * MS_PER_MINUTE) / kinds.length);
  const costs: Cost[] = [];
  for (const kind of kinds) {
    if (performance.now() > endMs) break;
    costs.push(await targets.measure(kind, eachMs));
    if (costs.length % PROGRESS_EVERY === 0) progress(`${costs.length} of ${kinds.length}`);
  }
  const usual = await targets.measure(kinds.find(({ name }) => name === ONE_FIELD) as Kind, USUAL_MS);
  await targets.end();
  const all = costs.toSorted((a, b) => Number(b.hasEnded) - Number(a.hasEnded) || b.msPerMB - a.msPerMB);
  const groups = all.map(({ kind }) => groupOf(kind));
  const dearest = all.filter((_, nth) => groups.indexOf(groups[nth] ?? '') === nth);
  console.log(`${costs.length} of ${kinds.length} kinds were measured.`);
  console.table([...dearest.slice(0, SHOWN), usual]);
}

/** A sidecar for each listener, started when it is needed and after its end. */
class Targets {
  readonly #ground: Ground;
  readonly #sidecars = new Map<Kind['listener'], { readonly port: number; readonly sidecar: SidecarProcess }>();

  constructor(ground: Ground) {
    this.#ground = ground;
  }

  async measure({ name, listener, how, build }: Kind, forMs: number) {
    const { port, sidecar } = await this.#targetOf(listener);
    const attacker = new Attacker({ port, monitorPort: 0, isShort: false, folder: this.#ground.folder });
    const bytes = build();
    const cpuMs = () => (sidecar.hasEnded ? 0 : cpuUsOf(sidecar.pid) / 1_000);
    const [beganMs, endMs] = [cpuMs(), performance.now() + forMs];
    let count = 0;
    const send = senderOf(how, bytes, attacker);
    const lastMs = endMs + (MOST_TIMES - 1) * forMs;
    const isEnough = () => performance.now() > (count < LEAST_COUNT ? lastMs : endMs);
    for (; !isEnough() && !sidecar.hasEnded; count += 1) await send();
    const sentBytes = how === 'tunnel' ? attacker.cost.bytes : count * Math.max(LEAST_BYTES, bytes.length);
    const ms = cpuMs() - beganMs;
    attacker.stop();
    const { hasEnded } = sidecar;
    return { kind: name, kB: bytes.length / 1_000, msEach: ms / count, msPerMB: (ms * 1e6) / sentBytes, hasEnded };
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
function senderOf(how: Kind['how'], bytes: Buffer, attacker: Attacker): () => Promise<void> {
  let socket: net.Socket | undefined;
  return async () => {
    if (socket?.writable !== true) socket = await (how === 'tunnel' ? open(attacker, true) : attacker.connect());
    if (socket === undefined) return;
    const sent = how === 'tunnel' ? attacker.write(socket, bytes) : attacker.ask(socket, bytes).then(() => true);
    const isAnswered = await Promise.race([sent, sleep(ANSWER_TIMEOUT_MS, false, { ref: false })]);
    if (how !== 'connection' && isAnswered) return;
    socket.destroy();
    socket = undefined;
  };
}
