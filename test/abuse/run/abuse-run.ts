import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeProgram } from '../../bench/load/peers/node-peers.ts';
import { freePorts, untilListening } from '../../bench/load/ports.ts';
import { hasEnded } from '../../bench/load/processes.ts';
import { openDescriptors, residentBytes, Watch } from '../../support/load/figures.ts';
import { OrderedProcess } from '../../support/load/orders.ts';
import { MAIN, type Settings, type SidecarParts, SidecarProcess } from '../../support/load/sidecar.ts';
import { CertificateFolder } from '../../support/tls/certificates.ts';
import type { Cost } from '../attacker/attacker.ts';
import type { Flood } from '../floods/flood.ts';
import * as plant from '../plant.ts';
import type { CrowdParts, CrowdResult } from '../users/crowd.ts';
import { Pace } from './pace.ts';

/** The effect of one flood. Memory is resident memory. */
export interface FloodResult {
  readonly isShort: boolean;
  readonly cost: Cost;
  readonly users: CrowdResult;
  /** The largest part of a second that other programs took of the sidecar's core. */
  readonly lostMs: number;
  /** How many times slower than that of the bounds the machine was during the flood, at least 1. */
  readonly slowness: number;
  readonly startBytes: number;
  readonly peakBytes: number;
  /** Undefined when the process has ended. */
  readonly afterBytes: number | undefined;
  readonly lastWords: string | undefined;
  /** From the end of the flood until the descriptors are closed; undefined: they never were. */
  readonly overAfterMs: number | undefined;
  /** Descriptors above those in calm, at the end. */
  readonly leftOpen: number;
  /** Values of the honest Comet user that the sidecar counted; undefined if it did not answer. */
  readonly countedValues: number | undefined;
  readonly sessions: number | undefined;
}

export interface AbuseRunParts {
  readonly sidecar: Omit<SidecarParts, 'port' | 'monitorPort'>;
  readonly users: OrderedProcess;
  readonly isShort: boolean;
  onProgress(phase: string, residentBytes: number | undefined): void;
}

const FULL = { warmUpMs: 1_000, calmMs: 3_000, floodMs: 8_000, patienceMs: 15_000 };
const SHORT = { warmUpMs: 300, calmMs: 1_500, floodMs: 2_500, patienceMs: 10_000 };

const LOOK_MS = 100;
const PROGRESS_MS = 500;
const ORDER_TIMEOUT_MS = 10_000;
/** Longer than a user's call may take. */
const USERS_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 5_000;
const DESCRIPTOR_TOLERANCE = 8;
/** How far counters may lag the last answer. */
const COUNT_TIMEOUT_MS = 3_000;
const [READER = ''] = plant.MONITOR_READERS;

/** One flood against a sidecar of its own, beside honest users: calm, flood, recovery. */
export class AbuseRun {
  readonly #parts: AbuseRunParts;
  readonly #times: typeof FULL;

  constructor(parts: AbuseRunParts) {
    this.#parts = parts;
    this.#times = parts.isShort ? SHORT : FULL;
  }

  /** With new processes, so that memory of the previous flood does not count. */
  async flood(flood: Flood): Promise<FloodResult> {
    const [port = 0, monitorPort = 0, relayPort = 0] = await freePorts(3);
    const authorization = plant.toBasic(READER, plant.MONITOR_PASSWORD);
    const parts: SidecarParts = { ...this.#parts.sidecar, port, monitorPort, authorization };
    const relay = parts.processes.start(nodeProgram('raw-relay', relayPort, parts.upstreamPort), parts.core);
    const [sidecar, attacker] = await Promise.all([
      SidecarProcess.start(parts, settingsOf(parts.folder, flood.setting)),
      OrderedProcess.start(parts.processes, path.resolve(import.meta.dirname, '../attacker/main.js')),
      untilListening(relayPort, () => hasEnded(relay)),
    ]);
    try {
      return await this.#flood(flood, { ...parts, relayPort }, sidecar, attacker);
    } finally {
      await Promise.all([sidecar.end('SIGTERM', STOP_TIMEOUT_MS), attacker.end(), parts.processes.stop(relay)]);
    }
  }

  async #flood(
    flood: Flood,
    { port, monitorPort, relayPort, core }: SidecarParts & { readonly relayPort: number },
    sidecar: SidecarProcess,
    attacker: OrderedProcess,
  ): Promise<FloodResult> {
    const { users, isShort } = this.#parts;
    const [isTls, readsMonitor] = [flood.setting === 'tls', flood.setting === 'monitor'];
    await users.order('begin', { port, monitorPort, relayPort, isTls, readsMonitor } satisfies CrowdParts);
    await this.#phase(plant.WARM_UP, sidecar, this.#times.warmUpMs);
    await this.#phase(plant.CALM, sidecar, this.#times.calmMs);
    const descriptors = openDescriptors(sidecar.pid) ?? 0;
    const watch = new Watch(sidecar.pid, core);
    const pace = new Pace();
    try {
      const target = { port, monitorPort, isShort };
      await attacker.order('begin', { name: flood.name, target }, ORDER_TIMEOUT_MS);
      await this.#phase(plant.FLOOD, sidecar, this.#times.floodMs);
      const slowness = pace.stop();
      const cost = await attacker.order<Cost>('end', undefined, ORDER_TIMEOUT_MS);
      const recovered = await this.#recover(sidecar, descriptors);
      const result = await users.order<CrowdResult>('end', undefined, USERS_TIMEOUT_MS);
      const numbers = await readNumbers(sidecar, result.values);
      watch.stop();
      const { mostLostMs: lostMs, startBytes, peakBytes } = watch;
      const afterBytes = residentBytes(sidecar.pid);
      const lastWords = sidecar.hasEnded ? sidecar.lastWords : undefined;
      const memory = { lostMs, startBytes, peakBytes, afterBytes };
      return { isShort, slowness, cost, users: result, ...memory, lastWords, ...recovered, ...numbers };
    } finally {
      pace.stop();
      watch.stop();
    }
  }

  async #phase(phase: string, sidecar: SidecarProcess, forMs: number): Promise<void> {
    const { users, onProgress } = this.#parts;
    await users.order('phase', phase, ORDER_TIMEOUT_MS);
    const endMs = performance.now() + forMs;
    for (let leftMs = forMs; leftMs > 0 && !sidecar.hasEnded; leftMs = endMs - performance.now()) {
      onProgress(phase, residentBytes(sidecar.pid));
      await sleep(Math.min(leftMs, PROGRESS_MS));
    }
  }

  /** Waits until the descriptors of the attacker's connections are closed, or none has been closed for long. */
  async #recover(sidecar: SidecarProcess, calmDescriptors: number) {
    const { users, onProgress } = this.#parts;
    await users.order('phase', plant.RECOVERY, ORDER_TIMEOUT_MS);
    const startedMs = performance.now();
    let least = { leftOpen: Number.POSITIVE_INFINITY, tookMs: 0 };
    for (;;) {
      const tookMs = performance.now() - startedMs;
      const leftOpen = (openDescriptors(sidecar.pid) ?? 0) - calmDescriptors;
      if (leftOpen < least.leftOpen) least = { leftOpen, tookMs };
      if (sidecar.hasEnded) return { overAfterMs: undefined, leftOpen: 0 };
      if (leftOpen <= DESCRIPTOR_TOLERANCE) return { overAfterMs: tookMs, leftOpen };
      if (tookMs - least.tookMs > this.#times.patienceMs) return { overAfterMs: undefined, leftOpen };
      onProgress(plant.RECOVERY, residentBytes(sidecar.pid));
      await sleep(LOOK_MS);
    }
  }
}

async function readNumbers(sidecar: SidecarProcess, values: number) {
  const startedMs = performance.now();
  try {
    for (;;) {
      const samples = await sidecar.scrape();
      const countedValues = samples.sum('d2_object_values_total', { name: plant.HONEST_OBJECTS });
      const isLate = performance.now() - startedMs > COUNT_TIMEOUT_MS;
      if (countedValues === values || isLate) return { countedValues, sessions: samples.sum('d2_sessions') };
      await sleep(LOOK_MS);
    }
  } catch {
    // It has ended, or does not answer: these numbers are unknown, and the verdict says so.
    return { countedValues: undefined, sessions: undefined };
  }
}

/** Timeouts are short, so that a run sees clients ended that only these limits end. All other limits are the defaults. */
function settingsOf(folder: string, setting: Flood['setting']): Settings {
  const certificates = new CertificateFolder(folder);
  return {
    ...(setting === 'tls' && { listen: { tls: certificates.signed(certificates.authority(), { name: 'plant' }) } }),
    ...(setting === 'monitor' && { monitor: { auth: { usersFile: writeUsers(folder) } } }),
    stop: { delay: '0s', window: '0s', deadline: '1s' },
    timeouts: { halfClosed: '3s', idle: '5s' },
  };
}

function writeUsers(folder: string): string {
  const options = { input: `${plant.MONITOR_PASSWORD}\n`, encoding: 'utf8' } as const;
  const { stdout, stderr, status } = spawnSync(process.execPath, [MAIN, 'passwd', 'reader'], options);
  if (status !== 0) throw new Error(`passwd: ${stderr}`);
  const rest = stdout.trim().slice('reader'.length);
  const file = path.join(folder, 'users');
  writeFileSync(file, plant.MONITOR_READERS.map((name) => `${name}${rest}\n`).join(''), { mode: 0o600 });
  return file;
}
