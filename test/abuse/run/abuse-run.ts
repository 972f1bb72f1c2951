import { setTimeout as sleep } from 'node:timers/promises';
import type { Cost } from '../attacker/attacker.ts';
import type { Flood } from '../floods/flood.ts';
import { CALM, FLOOD, RECOVERY, WARM_UP } from '../phases.ts';
import { HONEST_OBJECTS } from '../plant.ts';
import type { CrowdParts, CrowdResult } from '../users/crowd.ts';
import { AbuseSidecar, type SidecarParts } from './abuse-sidecar.ts';
import { CoreWatch } from './core-watch.ts';
import type { FloodResult } from './flood-result.ts';
import { MemoryWatch, openDescriptors, residentBytes } from './memory-watch.ts';
import type { OrderedProcess } from './ordered-process.ts';

export interface AbuseRunParts {
  readonly sidecar: SidecarParts;
  readonly users: OrderedProcess;
  readonly isShort: boolean;
  startAttacker(): Promise<OrderedProcess>;
  /** Called for each phase, and twice a second within it. */
  onProgress(phase: string, residentBytes: number | undefined): void;
}

interface Times {
  readonly warmUpMs: number;
  readonly calmMs: number;
  readonly floodMs: number;
  readonly recoveryMs: number;
}

const FULL: Times = { warmUpMs: 1_000, calmMs: 3_000, floodMs: 8_000, recoveryMs: 15_000 };
const SHORT: Times = { warmUpMs: 300, calmMs: 1_500, floodMs: 2_500, recoveryMs: 10_000 };

const LOOK_MS = 100;
const PROGRESS_MS = 500;
const ORDER_TIMEOUT_MS = 10_000;
/** Longer than a user's call may take. */
const USERS_TIMEOUT_MS = 60_000;
/** Users open new connections now and then. */
const DESCRIPTOR_TOLERANCE = 8;
/** How far counters may lag the last answer. */
const COUNT_TIMEOUT_MS = 3_000;

/** One flood against a sidecar of its own, beside honest users: calm, flood, recovery. */
export class AbuseRun {
  readonly #parts: AbuseRunParts;
  readonly #times: Times;

  constructor(parts: AbuseRunParts) {
    this.#parts = parts;
    this.#times = parts.isShort ? SHORT : FULL;
  }

  async flood(flood: Flood): Promise<FloodResult> {
    const { sidecar: parts, startAttacker } = this.#parts;
    // A new process for each flood, so that memory of the previous one does not count.
    const [sidecar, attacker] = await Promise.all([AbuseSidecar.start(parts, flood.setting), startAttacker()]);
    try {
      return await this.#flood(flood, sidecar, attacker);
    } finally {
      await Promise.all([sidecar.stop(), attacker.stop()]);
    }
  }

  async #flood(flood: Flood, sidecar: AbuseSidecar, attacker: OrderedProcess): Promise<FloodResult> {
    const { users, isShort } = this.#parts;
    const { port, monitorPort, pid } = sidecar;
    const upstreamPort = this.#parts.sidecar.upstreamPort;
    const readsMonitor = flood.setting === 'monitor';
    const crowd: CrowdParts = { port, monitorPort, upstreamPort, isTls: flood.setting === 'tls', readsMonitor };
    await users.order('begin', ORDER_TIMEOUT_MS, crowd);
    await this.#phase(WARM_UP, sidecar, this.#times.warmUpMs);
    await this.#phase(CALM, sidecar, this.#times.calmMs);
    const descriptors = openDescriptors(pid) ?? 0;
    const memory = new MemoryWatch(pid);
    const core = new CoreWatch(this.#parts.sidecar.core, pid);
    try {
      const target = { port, monitorPort, isShort };
      await attacker.order('begin', ORDER_TIMEOUT_MS, { name: flood.name, target });
      await this.#phase(FLOOD, sidecar, this.#times.floodMs);
      const cost = await attacker.order<Cost>('end', ORDER_TIMEOUT_MS);
      const { overAfterMs, leftOpen } = await this.#recover(sidecar, descriptors);
      const result = await users.order<CrowdResult>('end', USERS_TIMEOUT_MS);
      const numbers = await this.#readNumbers(sidecar, result.values);
      return {
        isShort,
        cost,
        users: result,
        lostMs: core.mostLostMs,
        startBytes: memory.startBytes,
        peakBytes: memory.peakBytes,
        afterBytes: memory.nowBytes,
        lastWords: sidecar.hasEnded ? sidecar.lastWords : undefined,
        overAfterMs,
        leftOpen,
        ...numbers,
      };
    } finally {
      memory.stop();
      core.stop();
    }
  }

  async #phase(phase: string, sidecar: AbuseSidecar, forMs: number): Promise<void> {
    await this.#parts.users.order('phase', ORDER_TIMEOUT_MS, phase);
    const endMs = performance.now() + forMs;
    this.#tell(phase, sidecar);
    for (let leftMs = forMs; leftMs > 0 && !sidecar.hasEnded; leftMs = endMs - performance.now()) {
      await sleep(Math.min(leftMs, PROGRESS_MS));
      this.#tell(phase, sidecar);
    }
  }

  /** Waits until the descriptors of the attacker's connections are closed. */
  async #recover(sidecar: AbuseSidecar, calmDescriptors: number) {
    await this.#parts.users.order('phase', ORDER_TIMEOUT_MS, RECOVERY);
    const startedMs = performance.now();
    for (;;) {
      const tookMs = performance.now() - startedMs;
      const leftOpen = (openDescriptors(sidecar.pid) ?? 0) - calmDescriptors;
      if (sidecar.hasEnded) return { overAfterMs: undefined, leftOpen: 0 };
      if (leftOpen <= DESCRIPTOR_TOLERANCE) return { overAfterMs: tookMs, leftOpen };
      if (tookMs > this.#times.recoveryMs) return { overAfterMs: undefined, leftOpen };
      this.#tell(RECOVERY, sidecar);
      await sleep(LOOK_MS);
    }
  }

  async #readNumbers(sidecar: AbuseSidecar, values: number) {
    const startedMs = performance.now();
    try {
      for (;;) {
        const samples = await sidecar.scrape();
        const countedValues = samples.sum('d2_object_values_total', { name: HONEST_OBJECTS });
        const isLate = performance.now() - startedMs > COUNT_TIMEOUT_MS;
        if (countedValues === values || isLate) return { countedValues, sessions: samples.sum('d2_sessions') };
        await sleep(LOOK_MS);
      }
    } catch {
      // It has ended, or does not answer: these numbers are unknown, and the verdict says so.
      return { countedValues: undefined, sessions: undefined };
    }
  }

  #tell(phase: string, { pid }: AbuseSidecar): void {
    this.#parts.onProgress(phase, residentBytes(pid));
  }
}
