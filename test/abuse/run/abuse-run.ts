import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeProgram } from '../../bench/load/peers/node-peers.ts';
import { freePorts, untilListening } from '../../bench/load/ports.ts';
import { hasEnded } from '../../bench/load/processes.ts';
import { OrderedProcess } from '../../support/load/orders.ts';
import { openDescriptors, Watch } from '../../support/load/proc.ts';
import { type SidecarParts, SidecarProcess } from '../../support/load/sidecar.ts';
import type { Cost, Target } from '../attacker/attacker.ts';
import type { Flood } from '../floods/flood.ts';
import * as plant from '../plant.ts';
import type { CrowdParts, CrowdResult } from '../users/crowd.ts';
import { post } from '../users/honest-user.ts';
import { settingsOf } from './settings.ts';

/**
 * The effect of one flood. `lostMs`: the largest part of a second that other programs took of the sidecar's core. `isOver`: whether
 * the descriptors of the attacker's connections were closed; `leftOpen`: those above the number in calm, at the end. Figures of the
 * sidecar are undefined if it did not answer.
 */
export type FloodResult = Awaited<ReturnType<typeof runFlood>>;

export interface Ground {
  readonly sidecar: Omit<SidecarParts, 'port' | 'monitorPort'>;
  readonly users: OrderedProcess;
  readonly isShort: boolean;
}

const FULL = { warmUpMs: 1_000, calmMs: 3_000, floodMs: 8_000, patienceMs: 15_000 };
const SHORT = { warmUpMs: 300, calmMs: 1_500, floodMs: 2_500, patienceMs: 10_000 };

const LOOK_MS = 100;
const ORDER_TIMEOUT_MS = 10_000;
/** Longer than a user's call may take. */
const USERS_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 5_000;
const DESCRIPTOR_TOLERANCE = 8;
/** How far counters may lag the last answer. */
const COUNT_TIMEOUT_MS = 3_000;
const [READER = ''] = plant.MONITOR_READERS;

/** One flood against a sidecar of its own, with new processes, so that memory of the previous flood does not count. */
export async function runFlood(flood: Flood, ground: Ground) {
  const [port = 0, monitorPort = 0, relayPort = 0] = await freePorts(3);
  const authorization = plant.toBasic(READER, plant.MONITOR_PASSWORD);
  const parts: SidecarParts = { ...ground.sidecar, port, monitorPort, authorization };
  const { processes, folder, core } = parts;
  const relay = processes.start(nodeProgram('raw-relay', relayPort, parts.upstreamPort), core);
  const [sidecar, attacker] = await Promise.all([
    SidecarProcess.start(parts, settingsOf(folder, flood)),
    OrderedProcess.start(processes, path.resolve(import.meta.dirname, '../attacker/main.js')),
    untilListening(relayPort, () => hasEnded(relay)),
  ]);
  const isTls = flood.setting === 'tls' || flood.setting === 'pkcs12';
  const crowd = { port, monitorPort, relayPort, isTls, readsMonitor: flood.setting === 'monitor' };
  try {
    return await measureFlood(flood, ground, crowd, sidecar, attacker);
  } finally {
    await Promise.all([sidecar.end('SIGTERM', STOP_TIMEOUT_MS), attacker.end(), processes.stop(relay)]);
  }
}

async function measureFlood(
  { name }: Flood,
  { users, isShort, sidecar: { core, folder } }: Ground,
  crowd: CrowdParts,
  sidecar: SidecarProcess,
  attacker: OrderedProcess,
) {
  const { warmUpMs, calmMs, floodMs, patienceMs } = isShort ? SHORT : FULL;
  const enter = (phase: string) => users.order('phase', phase, ORDER_TIMEOUT_MS);
  const phase = async (which: string, forMs: number) => {
    await enter(which);
    await Promise.race([sleep(forMs), sidecar.ended]);
  };
  await users.order('begin', crowd);
  await phase(plant.WARM_UP, warmUpMs);
  await phase(plant.CALM, calmMs);
  const descriptors = openDescriptors(sidecar.pid) ?? 0;
  const watch = new Watch(sidecar.pid, core);
  try {
    const target: Target = { port: crowd.port, monitorPort: crowd.monitorPort, isShort, folder };
    await attacker.order('begin', { name, target }, ORDER_TIMEOUT_MS);
    await phase(plant.FLOOD, floodMs);
    const cost = await attacker.order<Cost>('end', undefined, ORDER_TIMEOUT_MS);
    await enter(plant.RECOVERY);
    const recovered = await recover(sidecar, descriptors, patienceMs);
    const result = await users.order<CrowdResult>('end', undefined, USERS_TIMEOUT_MS);
    const line = { port: crowd.port, isTls: crowd.isTls, agent: false } as const;
    await post(line, plant.LATE_PATH, '[]').catch(() => undefined);
    // If it has ended, or does not answer, these numbers are unknown, and the verdict says so.
    const numbers = await readNumbers(sidecar, result.values).catch(() => undefined);
    watch.stop();
    const { mostLostMs: lostMs, startBytes, peakBytes } = watch;
    const lastWords = sidecar.hasEnded ? sidecar.lastWords : undefined;
    return { isShort, cost, users: result, lostMs, startBytes, peakBytes, lastWords, ...recovered, ...numbers };
  } finally {
    watch.stop();
  }
}

/** Waits until the descriptors of the attacker's connections are closed, or none has been closed for long. */
async function recover(sidecar: SidecarProcess, calmDescriptors: number, patienceMs: number) {
  let least = { leftOpen: Number.POSITIVE_INFINITY, atMs: performance.now() };
  for (;;) {
    const leftOpen = (openDescriptors(sidecar.pid) ?? 0) - calmDescriptors;
    if (leftOpen < least.leftOpen) least = { leftOpen, atMs: performance.now() };
    const isOver = leftOpen <= DESCRIPTOR_TOLERANCE;
    if (isOver || sidecar.hasEnded || performance.now() - least.atMs > patienceMs) return { isOver, leftOpen };
    await sleep(LOOK_MS);
  }
}

async function readNumbers(sidecar: SidecarProcess, values: number) {
  const untilMs = performance.now() + COUNT_TIMEOUT_MS;
  for (;;) {
    const samples = await sidecar.scrape();
    const countedValues = samples.sum('d2_object_values_total', { name: plant.HONEST_OBJECTS });
    if (countedValues === values || performance.now() > untilMs) {
      const hasLateName = samples.sum('d2_calls_total', { name: plant.LATE_NAME }) > 0;
      return { countedValues, sessions: samples.sum('d2_sessions'), hasLateName };
    }
    await sleep(LOOK_MS);
  }
}
