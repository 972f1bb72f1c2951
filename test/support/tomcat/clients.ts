/** Clients with several connections for each user. */
import { spawnSync } from 'node:child_process';
import { Pool } from 'undici';
import { basic } from '../monitor/access/access-files.ts';
import { ALL_USERS, type Call, type User } from './calls.ts';

export interface AnsweredCall extends Call {
  readonly status: number;
  readonly seconds: number;
}

const CONNECTIONS_EACH = 2;

export function isCurlInstalled(): boolean {
  return spawnSync('curl', ['--version']).status === 0;
}

export class Clients {
  readonly #origin: string;
  readonly #prefix: string;
  readonly #pools = new Map<User, Pool>();

  /** `origin` e.g. `http://127.0.0.1:8081`, `prefix` e.g. `/smartWeb/api/rest/v0/`. */
  constructor(origin: string, prefix: string) {
    this.#origin = origin;
    this.#prefix = prefix;
  }

  /** One call at a time, so that their order is known. */
  async sendInOrder(calls: Iterable<Call>): Promise<AnsweredCall[]> {
    const answered: AnsweredCall[] = [];
    for (const call of calls) answered.push(await this.#send(call));
    return answered;
  }

  /** All users at once, each on all of their connections. */
  async sendAtOnce(calls: readonly Call[]): Promise<AnsweredCall[]> {
    const queues = ALL_USERS.flatMap((user) => {
      const queue = calls.filter((call) => call.user === user).values();
      return Array.from({ length: CONNECTIONS_EACH }, () => queue);
    });
    return (await Promise.all(queues.map((queue) => this.sendInOrder(queue)))).flat();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  async #send(call: Call): Promise<AnsweredCall> {
    const pool = this.#pools.get(call.user) ?? new Pool(this.#origin, { connections: CONNECTIONS_EACH });
    this.#pools.set(call.user, pool);
    const began = performance.now();
    const { statusCode, body } = await pool.request({
      ...{ path: this.#prefix + call.path, method: call.method, headers: fieldsOf(call) },
      body: call.bodyBytes > 0 ? bodyOf(call) : null,
    });
    await body.dump({ limit: Number.POSITIVE_INFINITY });
    return { ...call, status: statusCode, seconds: (performance.now() - began) / 1000 };
  }
}

function fieldsOf({ kind, bodyBytes, hasWrongSecret, user: { credentials } }: Call): Record<string, string> {
  const type = kind === 'sba' ? 'application/octet-stream' : 'application/json';
  const content: Record<string, string> = bodyBytes === 0 ? {} : { 'content-type': type };
  if (credentials.kind === 'key') return { ...content, 'x-api-key': hasWrongSecret ? 'mistyped' : credentials.key };
  const password = hasWrongSecret ? 'mistyped' : credentials.password;
  return { ...content, authorization: basic(credentials.user, password) };
}

function bodyOf(call: Call): Buffer {
  return Buffer.alloc(call.bodyBytes, call.kind === 'sba' ? 0xd2 : '[1]');
}
