/** The honest users of an abuse run, in a process of their own, so that no other event loop affects what they measure. */
import http from 'node:http';
import https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { medianOf } from '../../bench/load/statistics.ts';
import { obeyOrders } from '../../support/load/orders.ts';
import { CALM, COMET_PATH, FLOOD, MONITOR_PASSWORD, MONITOR_READERS, RPC_PATH, toBasic, WARM_UP } from '../plant.ts';
import { CometUser, call, type Line, openChannel, post } from './honest-user.ts';

export interface CrowdParts {
  readonly port: number;
  /** Of a plain relay to the same upstream, on the sidecar's core: what it delays as well is not the sidecar's doing. */
  readonly relayPort: number;
  readonly monitorPort: number;
  readonly isTls: boolean;
  readonly readsMonitor: boolean;
}

/** What users experienced with one kind of call in one phase. Times in ms. */
export interface CallSummary {
  readonly count: number;
  readonly failed: number;
  readonly p50Ms: number;
  /** The lowest median of any quarter of the calls: a burst is in some of them, a lasting delay in all. */
  readonly steadyMs: number;
  readonly worstMs: number;
}

export interface CrowdResult {
  /** By kind and phase: `calls flood`. */
  readonly calls: Readonly<Record<string, CallSummary>>;
  /** Values received by the Comet users, one by long-polling and one by WebSocket. */
  readonly values: number;
  readonly failures: readonly string[];
}

const USERS = 32;
/** Well above the bound of the median: a longer call delays the next one of its user. */
const CALL_EVERY_MS = 100;
const CONNECT_EVERY_MS = 200;
/** Enough to notice what the others notice. */
const RELAYED_USERS = 8;
const MONITOR_EVERY_MS = 250;
const LOGIN_EVERY_MS = 1_000;
/** How often the lateness of this process's own timers is measured: that delay is not the sidecar's. */
const LOOP_EVERY_MS = 20;
const FAILURES_TOLD = 3;

/** Small calls at a steady rate: each is due, and timed, from its own moment, so that all calls of a second notice a pause in it. */
class Crowd {
  phase: string = WARM_UP;
  readonly #parts: CrowdParts;
  readonly #agents: http.Agent[] = [];
  readonly #comet: CometUser[] = [];
  readonly #calls = new Map<string, { readonly tookMs: number[]; failed: number }>();
  readonly #failures: string[] = [];
  readonly #loop: NodeJS.Timeout;
  #channel: Awaited<ReturnType<typeof openChannel>> | undefined;
  #isOn = true;
  #working: Promise<unknown>[] = [];

  constructor(parts: CrowdParts) {
    this.#parts = parts;
    let dueMs = performance.now() + LOOP_EVERY_MS;
    this.#loop = setInterval(() => {
      const nowMs = performance.now();
      this.#add('users', this.phase, Math.max(0, nowMs - dueMs));
      dueMs = nowMs + LOOP_EVERY_MS;
    }, LOOP_EVERY_MS);
  }

  async begin(): Promise<void> {
    const { port, isTls, relayPort, monitorPort, readsMonitor } = this.#parts;
    const fresh: Line = { port, isTls, agent: false };
    const rpc = (line: Line) => () => post(line, RPC_PATH, '[]');
    const many = (count: number, toLine: () => Line, kind: string) =>
      Array.from({ length: count }, () => this.#keep(kind, CALL_EVERY_MS, rpc(toLine())));
    await rpc(fresh)();
    await this.#beginComet(fresh);
    this.#working = [
      ...this.#comet.map((user) => user.poll()),
      ...many(USERS, () => ({ ...fresh, agent: this.#connection() }), 'calls'),
      this.#keep('calls', CONNECT_EVERY_MS, rpc(fresh)),
      ...many(RELAYED_USERS, () => ({ port: relayPort, isTls: false, agent: this.#connection(false) }), 'relayed'),
    ];
    if (!readsMonitor) return;
    const [reader = '', ...newcomers] = MONITOR_READERS;
    const read = (name: string) => {
      const headers = { Authorization: toBasic(name, MONITOR_PASSWORD) };
      return call({ port: monitorPort, isTls: false, agent: false }, '/metrics', { headers });
    };
    this.#working.push(
      this.#keep('monitor', MONITOR_EVERY_MS, () => read(reader)),
      this.#keep('monitor', LOGIN_EVERY_MS, () => read(newcomers.shift() ?? reader)),
    );
  }

  /** Lets open calls finish. */
  async end(): Promise<CrowdResult> {
    this.#isOn = false;
    for (const user of this.#comet) user.isOn = false;
    await Promise.all(this.#working);
    clearInterval(this.#loop);
    for (const agent of this.#agents) agent.destroy();
    this.#channel?.close();
    const values = this.#comet.reduce((sum, user) => sum + user.values, 0);
    const calls = Array.from(this.#calls, ([key, { tookMs, failed }]) => [key, summaryOf(tookMs, failed)]);
    return { calls: Object.fromEntries(calls), values, failures: this.#failures };
  }

  #connection(isTls = this.#parts.isTls): http.Agent {
    const agent = new (isTls ? https : http).Agent({ keepAlive: true, maxSockets: 1 });
    this.#agents.push(agent);
    return agent;
  }

  async #beginComet(fresh: Line): Promise<void> {
    const fail = (cause: Error) => this.#add('comet', this.phase, 0, cause);
    const kept = { ...fresh, agent: this.#connection() };
    this.#channel = await openChannel(fresh);
    this.#comet.push(
      new CometUser('long-polling', (text) => post(kept, COMET_PATH, text), fail),
      new CometUser('websocket', this.#channel.ask, fail),
    );
    for (const user of this.#comet) await user.connect();
  }

  async #keep(kind: string, everyMs: number, act: () => Promise<unknown>): Promise<void> {
    // Spread, so that users do not call all at once.
    let dueMs = performance.now() + Math.random() * everyMs;
    while (this.#isOn) {
      const waitMs = dueMs - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      const phase = this.phase;
      // A timer is late by up to a millisecond, which is not the sidecar's delay.
      const fromMs = waitMs > 0 ? performance.now() : dueMs;
      const cause = await act().then(
        () => undefined,
        (error: Error) => error,
      );
      // A call that was in progress when the flood began counts for the flood.
      const isCaught = phase === CALM && this.phase !== CALM;
      this.#add(kind, isCaught ? FLOOD : phase, performance.now() - fromMs, cause);
      dueMs += everyMs;
    }
  }

  /** A failed call counts with the time that its user waited in vain. */
  #add(kind: string, phase: string, tookMs: number, cause?: Error): void {
    const key = `${kind} ${phase}`;
    const calls = this.#calls.get(key) ?? { tookMs: [], failed: 0 };
    this.#calls.set(key, calls);
    calls.tookMs.push(tookMs);
    if (cause === undefined) return;
    calls.failed += 1;
    if (this.#failures.length < FAILURES_TOLD) this.#failures.push(`${kind}: ${cause.message}`);
  }
}

function summaryOf(tookMs: readonly number[], failed: number): CallSummary {
  const count = tookMs.length;
  const quarters = [0, 1, 2, 3].map((nth) => tookMs.slice((nth * count) / 4, ((nth + 1) * count) / 4));
  const steadyMs = Math.min(...quarters.filter((quarter) => quarter.length > 0).map(medianOf));
  return { count, failed, p50Ms: medianOf(tookMs), steadyMs, worstMs: Math.max(...tookMs) };
}

let crowd: Crowd | undefined;

obeyOrders({
  begin: async (parts: CrowdParts) => {
    // For a flood that could not be measured.
    void crowd?.end();
    crowd = new Crowd(parts);
    await crowd.begin();
  },
  phase: (name: string) => {
    if (crowd !== undefined) crowd.phase = name;
  },
  end: async () => {
    const result = await crowd?.end();
    crowd = undefined;
    return result;
  },
});
