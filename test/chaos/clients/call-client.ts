import { setTimeout as sleep } from 'node:timers/promises';
import type { Entry } from '../accounts/entry.ts';
import { type CallPlan, planCall } from '../truth/call-plan.ts';
import { Attempt } from './attempt.ts';
import { Connection } from './connection.ts';
import type { CrowdServices } from './crowd.ts';

/** Pause after a refused connection, so that a sidecar that is down is not called a thousand times a second. */
const RETRY_MS = 200;

/** A client that makes calls in sequence, over one connection as long as that lasts. */
export class CallClient {
  readonly #services: CrowdServices;
  readonly #isPolling: boolean;
  #connection: Connection | undefined;
  /** Pause after a poll that could not be held. */
  #isRefused = false;

  constructor(services: CrowdServices, isPolling: boolean) {
    this.#services = services;
    this.#isPolling = isPolling;
  }

  /** Runs until the crowd is stopped; then closes its connection. */
  async run(): Promise<void> {
    const { seed, pace } = this.#services;
    while (!this.#services.isStopping()) {
      const id = this.#services.nextId(this.#isPolling ? 'poll' : 'call');
      await this.#call(planCall(seed, id));
      if (!this.#isPolling || this.#isRefused) await pace();
    }
    const connection = this.#connection;
    if (connection !== undefined && connection.strayBytes > 0) {
      this.#services.onStray(connection.lastId ?? '-', connection.strayBytes);
    }
    connection?.leave(false);
    this.#connection = undefined;
  }

  async #call(plan: CallPlan): Promise<void> {
    const { seed, now, onEntry } = this.#services;
    const beganMs = now();
    const connection = await this.#connect();
    if (connection === undefined) {
      onEntry(toUnconnected(plan, beganMs, now()));
      await sleep(RETRY_MS);
      return;
    }
    const before = connection.lastId;
    connection.lastId = plan.id;
    const { answer, ...result } = await new Attempt(connection, plan, seed).run();
    this.#isRefused = result.outcome === 'problem';
    onEntry({
      ...result,
      id: plan.id,
      kind: plan.kind,
      status: answer.status,
      life: connection.life,
      hasAnswerBegun: answer.hasBegun,
      wrong: answer.wrong,
      before,
      beganMs,
      endedMs: now(),
      sentMessages: 0,
      echoes: 0,
    } satisfies Entry);
  }

  async #connect(): Promise<Connection | undefined> {
    const kept = this.#connection;
    if (kept !== undefined && kept.strayBytes > 0) this.#services.onStray(kept.lastId ?? '-', kept.strayBytes);
    if (kept !== undefined && !kept.isOver && !kept.socket.destroyed && kept.strayBytes === 0) return kept;
    kept?.leave(false);
    this.#connection = await Connection.open(this.#services.port, this.#services.lifeOf).catch(() => undefined);
    if (this.#connection !== undefined) this.#services.onConnected(this.#connection.life);
    return this.#connection;
  }
}

function toUnconnected({ id, kind }: CallPlan, beganMs: number, endedMs: number): Entry {
  return {
    id,
    kind,
    outcome: 'unconnected',
    status: 0,
    reason: '',
    life: undefined,
    isHeadSent: false,
    hasAnswerBegun: false,
    isRequestSent: false,
    wasCut: false,
    wrong: undefined,
    before: undefined,
    beganMs,
    endedMs,
    sentMessages: 0,
    echoes: 0,
  };
}
