import { setTimeout as sleep } from 'node:timers/promises';
import type { Entry } from '../accounts/entry.ts';
import { planSocket } from '../truth/socket-plan.ts';
import { Connection } from './connection.ts';
import type { CrowdServices } from './crowd.ts';
import { SocketAttempt } from './socket-attempt.ts';

const RETRY_MS = 200;

/** A client that opens WebSockets in sequence. */
export class SocketClient {
  readonly #services: CrowdServices;

  constructor(services: CrowdServices) {
    this.#services = services;
  }

  async run(): Promise<void> {
    while (!this.#services.isStopping()) {
      await this.#talk();
      await this.#services.pace();
    }
  }

  async #talk(): Promise<void> {
    const { seed, now, onEntry, port, lifeOf, nextId, isStopping, onConnected } = this.#services;
    const plan = planSocket(seed, nextId('socket'));
    const beganMs = now();
    const base = { id: plan.id, kind: 'socket', wasCut: false, before: undefined, beganMs } as const;
    const connection = await Connection.open(port, lifeOf).catch(() => undefined);
    if (connection === undefined) {
      const nothing = { status: 0, reason: '', life: undefined, wrong: undefined, sentMessages: 0, echoes: 0 };
      const unsent = { isHeadSent: false, hasAnswerBegun: false, isRequestSent: false };
      onEntry({ ...base, ...nothing, ...unsent, outcome: 'unconnected', endedMs: now() } satisfies Entry);
      await sleep(RETRY_MS);
      return;
    }
    onConnected(connection.life);
    const result = await new SocketAttempt(connection, plan, seed, isStopping).run();
    const sent = { isHeadSent: true, isRequestSent: true };
    onEntry({ ...base, ...result, ...sent, life: connection.life, endedMs: now() } satisfies Entry);
  }
}
