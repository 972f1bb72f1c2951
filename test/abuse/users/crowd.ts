import { setTimeout as sleep } from 'node:timers/promises';
import { CALM, FLOOD, WARM_UP } from '../phases.ts';
import { COMET_PATH, MONITOR_READERS } from '../plant.ts';
import { CallLog, type Summaries } from './call-log.ts';
import { CometChannel } from './comet-channel.ts';
import { CometUser } from './comet-user.ts';
import { HonestCalls, type Ports } from './honest-calls.ts';
import { LoopWatch } from './loop-watch.ts';

export interface CrowdParts extends Ports {
  /** Whether a user reads the monitoring port as well, with a password. */
  readonly readsMonitor: boolean;
}

export interface CrowdResult {
  readonly calls: Summaries;
  /** Values received by the Comet users, one by long-polling and one by WebSocket. */
  readonly values: number;
  /** The first failures, e.g. `calls: answered 503`. */
  readonly failures: readonly string[];
}

const USERS = 32;
/** Well above the bound of the median: a longer call delays the next one of its user. */
const CALL_EVERY_MS = 100;
const CONNECT_EVERY_MS = 200;
const DIRECT_EVERY_MS = 50;
const MONITOR_EVERY_MS = 250;
/** A reader whose password has not been verified before. */
const LOGIN_EVERY_MS = 1_000;
const FAILURES_TOLD = 3;

interface Schedule {
  readonly kind: string;
  readonly everyMs: number;
  act(): Promise<void>;
}

/**
 * Small calls at a steady rate. A call is due at its time, whether the previous one on its connection is answered or not, and its
 * duration counts from then: all calls of a second notice a pause in that second.
 */
export class Crowd {
  readonly #calls: HonestCalls;
  readonly #comet: CometUser[] = [];
  readonly #parts: CrowdParts;
  #channel: CometChannel | undefined;
  readonly #log = new CallLog();
  readonly #failures: string[] = [];
  readonly #loop: LoopWatch;
  #phase: string = WARM_UP;
  #isOn = true;
  #working: Promise<unknown>[] = [];

  constructor(parts: CrowdParts) {
    this.#calls = new HonestCalls(parts);
    this.#parts = parts;
    this.#loop = new LoopWatch((tookMs) => this.#add({ kind: 'users', phase: this.#phase, tookMs }));
  }

  /** Resolves once the first calls are answered. */
  async begin(): Promise<void> {
    await this.#calls.rpc(false);
    await this.#beginComet();
    const polling = this.#comet.map((user) => user.poll());
    this.#working = [...this.#schedules().map((one) => this.#keep(one)), ...polling];
  }

  /** Calls due from now on count for this phase. */
  enter(phase: string): void {
    this.#phase = phase;
  }

  /** Lets open calls finish. */
  async end(): Promise<CrowdResult> {
    this.#isOn = false;
    for (const user of this.#comet) user.stop();
    await Promise.all(this.#working);
    this.#loop.stop();
    this.#calls.close();
    this.#channel?.close();
    const values = this.#comet.reduce((sum, user) => sum + user.values, 0);
    return { calls: this.#log.summaries(), values, failures: this.#failures };
  }

  async #beginComet(): Promise<void> {
    const { port, isTls } = this.#parts;
    const fail = (cause: Error) => this.#add({ kind: 'comet', phase: this.#phase, tookMs: 0, cause });
    const connection = this.#calls.newConnection();
    const channel = await CometChannel.open(port, isTls);
    this.#channel = channel;
    const poll = (text: string) => this.#calls.post(connection, COMET_PATH, text);
    this.#comet.push(new CometUser({ transport: 'long-polling', ask: poll, fail }));
    this.#comet.push(new CometUser({ transport: 'websocket', ask: (text) => channel.ask(text), fail }));
    for (const user of this.#comet) await user.connect();
  }

  #schedules(): Schedule[] {
    const calls = this.#calls;
    const direct = calls.newDirectConnection();
    const users = Array.from({ length: USERS }, (): Schedule => {
      const connection = calls.newConnection();
      return { kind: 'calls', everyMs: CALL_EVERY_MS, act: () => calls.rpc(connection) };
    });
    const all: Schedule[] = [
      ...users,
      { kind: 'calls', everyMs: CONNECT_EVERY_MS, act: () => calls.rpc(false) },
      { kind: 'upstream', everyMs: DIRECT_EVERY_MS, act: () => calls.direct(direct) },
    ];
    if (!this.#parts.readsMonitor) return all;
    const [reader = '', ...newcomers] = MONITOR_READERS;
    return [
      ...all,
      { kind: 'monitor', everyMs: MONITOR_EVERY_MS, act: () => calls.monitor(reader) },
      { kind: 'monitor', everyMs: LOGIN_EVERY_MS, act: () => calls.monitor(newcomers.shift() ?? reader) },
    ];
  }

  async #keep({ kind, everyMs, act }: Schedule): Promise<void> {
    // Spread, so that users do not call all at once.
    let dueMs = performance.now() + Math.random() * everyMs;
    while (this.#isOn) {
      const waitMs = dueMs - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      const phase = this.#phase;
      // A timer is late by up to a millisecond, which is not the sidecar's delay.
      const fromMs = waitMs > 0 ? performance.now() : dueMs;
      const cause = await act().then(
        () => undefined,
        (error: Error) => error,
      );
      // A call that was in progress when the flood began counts for the flood.
      const isCaught = phase === CALM && this.#phase !== CALM;
      this.#add({ kind, phase: isCaught ? FLOOD : phase, tookMs: performance.now() - fromMs, cause });
      dueMs += everyMs;
    }
  }

  #add({
    kind,
    phase,
    tookMs,
    cause,
  }: {
    kind: string;
    phase: string;
    tookMs: number;
    cause?: Error | undefined;
  }): void {
    this.#log.add(kind, phase, { tookMs, isFailed: cause !== undefined });
    if (cause !== undefined && this.#failures.length < FAILURES_TOLD) this.#failures.push(`${kind}: ${cause.message}`);
  }
}
