/** The honest users of an abuse run, in a process of their own, so that no other event loop affects what they measure. */
import http from 'node:http';
import https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { obeyOrders } from '../../support/load/orders.ts';
import { CALM, COMET_PATH, FLOOD, MONITOR_PASSWORD, MONITOR_READERS, RPC_PATH, toBasic, WARM_UP } from '../plant.ts';
import { CallLog, type Summaries } from './call-log.ts';
import { CometUser, call, type Line, openChannel, post } from './honest-user.ts';

export interface CrowdParts {
  readonly port: number;
  /** Of a plain relay to the same upstream, on the sidecar's core: what it delays as well is not the sidecar's doing. */
  readonly relayPort: number;
  readonly monitorPort: number;
  readonly isTls: boolean;
  readonly readsMonitor: boolean;
}

export interface CrowdResult {
  readonly calls: Summaries;
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
  readonly #parts: CrowdParts;
  readonly #agents: http.Agent[] = [];
  readonly #comet: CometUser[] = [];
  readonly #log = new CallLog();
  readonly #failures: string[] = [];
  readonly #loop: NodeJS.Timeout;
  #channel: Awaited<ReturnType<typeof openChannel>> | undefined;
  #phase: string = WARM_UP;
  #isOn = true;
  #working: Promise<unknown>[] = [];

  constructor(parts: CrowdParts) {
    this.#parts = parts;
    let dueMs = performance.now() + LOOP_EVERY_MS;
    this.#loop = setInterval(() => {
      const nowMs = performance.now();
      this.#add('users', this.#phase, Math.max(0, nowMs - dueMs));
      dueMs = nowMs + LOOP_EVERY_MS;
    }, LOOP_EVERY_MS);
  }

  async begin(): Promise<void> {
    const { port, isTls, relayPort, monitorPort, readsMonitor } = this.#parts;
    const fresh: Line = { port, isTls, agent: false };
    const rpc = (line: Line) => () => post(line, RPC_PATH, '[]');
    await rpc(fresh)();
    await this.#beginComet(fresh);
    const relayed = () => ({ port: relayPort, isTls: false, agent: this.#connection(false) });
    this.#working = [
      ...this.#comet.map((user) => user.poll()),
      ...Array.from({ length: USERS }, () =>
        this.#keep('calls', CALL_EVERY_MS, rpc({ ...fresh, agent: this.#connection() })),
      ),
      this.#keep('calls', CONNECT_EVERY_MS, rpc(fresh)),
      ...Array.from({ length: RELAYED_USERS }, () => this.#keep('relayed', CALL_EVERY_MS, rpc(relayed()))),
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

  enter(phase: string): void {
    this.#phase = phase;
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
    return { calls: this.#log.summaries(), values, failures: this.#failures };
  }

  #connection(isTls = this.#parts.isTls): http.Agent {
    const agent = new (isTls ? https : http).Agent({ keepAlive: true, maxSockets: 1 });
    this.#agents.push(agent);
    return agent;
  }

  async #beginComet(fresh: Line): Promise<void> {
    const fail = (cause: Error) => this.#add('comet', this.#phase, 0, cause);
    const kept = { ...fresh, agent: this.#connection() };
    const channel = await openChannel(fresh);
    this.#channel = channel;
    this.#comet.push(
      new CometUser({ transport: 'long-polling', ask: (text) => post(kept, COMET_PATH, text), fail }),
      new CometUser({ transport: 'websocket', ask: channel.ask, fail }),
    );
    for (const user of this.#comet) await user.connect();
  }

  async #keep(kind: string, everyMs: number, act: () => Promise<unknown>): Promise<void> {
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
      this.#add(kind, isCaught ? FLOOD : phase, performance.now() - fromMs, cause);
      dueMs += everyMs;
    }
  }

  #add(kind: string, phase: string, tookMs: number, cause?: Error): void {
    this.#log.add(kind, phase, tookMs, cause !== undefined);
    if (cause !== undefined && this.#failures.length < FAILURES_TOLD) this.#failures.push(`${kind}: ${cause.message}`);
  }
}

let crowd: Crowd | undefined;

obeyOrders({
  begin: async (parts: CrowdParts) => {
    // For a flood that could not be measured.
    void crowd?.end();
    crowd = new Crowd(parts);
    await crowd.begin();
  },
  phase: (name: string) => crowd?.enter(name),
  end: async () => {
    const result = await crowd?.end();
    crowd = undefined;
    return result;
  },
});
