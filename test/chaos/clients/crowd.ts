/** All clients of a run: they start together and stop together, and each of their calls becomes exactly one entry. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../support/fuzz/random.ts';
import type { Entry } from '../accounts/entry.ts';
import { CallClient } from './call-client.ts';
import { SocketClient } from './socket-client.ts';

/** The crowd's services for a client. */
export interface CrowdServices {
  readonly seed: number;
  readonly port: number;
  readonly now: () => number;
  readonly lifeOf: () => number;
  readonly isStopping: () => boolean;
  readonly nextId: (of: 'call' | 'poll' | 'socket') => string;
  readonly pace: () => Promise<void>;
  readonly onEntry: (entry: Entry) => void;
  readonly onConnected: (life: number) => void;
  /** Bytes arrived without a request. */
  readonly onStray: (id: string, bytes: number) => void;
}

export interface CrowdSize {
  readonly calls: number;
  readonly polls: number;
  readonly sockets: number;
}

export interface CrowdParts {
  readonly seed: number;
  readonly port: number;
  readonly size: CrowdSize;
  readonly random: Random;
  readonly lifeOf: () => number;
  readonly onSent: (id: string) => void;
  readonly onEntry: (entry: Entry) => void;
  readonly onConnected: (life: number) => void;
  readonly onStray: (id: string, bytes: number) => void;
}

/** Longest pause of a client between two calls. */
const THINK_MS = 300;
const LETTERS = {
  chaos: { call: 'r', poll: 'p', socket: 's' },
  calm: { call: 'q', poll: 'o', socket: 't' },
} as const;

export class Crowd {
  readonly #parts: CrowdParts;
  #isStopping = false;
  #running: Promise<unknown> | undefined;
  #issued = 0;
  #mode: 'calm' | 'chaos' = 'calm';

  constructor(parts: CrowdParts) {
    this.#parts = parts;
  }

  /** Calls begun so far. */
  get issued(): number {
    return this.#issued;
  }

  /** Starts; with running clients only the plans of their calls change. */
  begin(mode: 'calm' | 'chaos'): void {
    this.#mode = mode;
    if (this.#running !== undefined) return;
    this.#isStopping = false;
    const services = this.#services();
    const { calls, polls, sockets } = this.#parts.size;
    const clients = [
      ...Array.from({ length: calls }, () => new CallClient(services, false)),
      ...Array.from({ length: polls }, () => new CallClient(services, true)),
      ...Array.from({ length: sockets }, () => new SocketClient(services)),
    ];
    this.#running = Promise.all(clients.map((client) => client.run()));
  }

  /** Resolves when every call has ended and every connection is closed. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#running;
    this.#running = undefined;
  }

  #services(): CrowdServices {
    const { seed, port, random, lifeOf, onSent, onEntry, onConnected, onStray } = this.#parts;
    return {
      seed,
      port,
      now: () => performance.now(),
      lifeOf,
      isStopping: () => this.#isStopping,
      nextId: (of) => {
        this.#issued += 1;
        const id = `${LETTERS[this.#mode][of]}${this.#issued}`;
        onSent(id);
        return id;
      },
      pace: () => sleep(this.#isStopping ? 0 : random.below(THINK_MS)),
      onEntry,
      onConnected,
      onStray,
    };
  }
}
