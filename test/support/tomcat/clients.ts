/** Real clients: undici with several connections for each user, and a curl process for each call marked so. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { Pool } from 'undici';
import type { Call, Credentials, Phase, User } from './calls.ts';

/** A call as its client saw it. */
export interface AnsweredCall extends Call {
  readonly status: number;
  /** From sending the request to the answer's last byte. */
  readonly seconds: number;
}

/** Concurrent calls of one user. */
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

  /** Sends all calls of a phase, each user's in order, and returns the answered ones. */
  async run(phase: Phase): Promise<AnsweredCall[]> {
    const answered: AnsweredCall[] = [];
    const work = async (queue: Call[]) => {
      for (let call = queue.shift(); call !== undefined; call = queue.shift()) answered.push(await this.#send(call));
    };
    if (phase.inOrder) {
      await work([...phase.calls]);
      return answered;
    }
    const queues = new Map<User, Call[]>();
    for (const call of phase.calls) queues.set(call.user, [...(queues.get(call.user) ?? []), call]);
    const workers = [...queues.values()].flatMap((queue) =>
      Array.from({ length: CONNECTIONS_EACH }, () => work(queue)),
    );
    await Promise.all(workers);
    return answered;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  #send(call: Call): Promise<AnsweredCall> {
    return call.client === 'curl' ? this.#sendByCurl(call) : this.#sendByUndici(call);
  }

  async #sendByUndici(call: Call): Promise<AnsweredCall> {
    const pool = this.#pools.get(call.user) ?? new Pool(this.#origin, { connections: CONNECTIONS_EACH });
    this.#pools.set(call.user, pool);
    const began = performance.now();
    const answer = await pool.request({
      path: this.#prefix + call.path,
      method: call.method,
      headers: { ...contentType(call), ...toFields(secretOf(call)) },
      body: call.bodyBytes > 0 ? bodyOf(call) : null,
    });
    await answer.body.dump({ limit: Number.POSITIVE_INFINITY });
    return { ...call, status: answer.statusCode, seconds: (performance.now() - began) / 1000 };
  }

  async #sendByCurl(call: Call): Promise<AnsweredCall> {
    const secret = secretOf(call);
    const args = ['-sS', '-o', '/dev/null', '-w', '%{http_code} %{time_total}', '-X', call.method];
    if (secret.kind === 'basic') args.push('-u', `${secret.user}:${secret.password}`);
    else args.push('-H', `X-API-Key: ${secret.key}`);
    for (const [name, value] of Object.entries(contentType(call))) args.push('-H', `${name}: ${value}`);
    if (call.bodyBytes > 0) args.push('--data-binary', '@-');
    const child = spawn('curl', [...args, this.#origin + this.#prefix + call.path], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    child.stdin.end(bodyOf(call));
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`curl ended with ${code} for ${call.method} ${call.path}`);
    const [status, seconds] = output.split(' ').map(Number) as [number, number];
    return { ...call, status, seconds };
  }
}

function secretOf(call: Call): Credentials {
  if (!call.hasWrongSecret) return call.user.credentials;
  const right = call.user.credentials;
  return right.kind === 'basic' ? { ...right, password: 'mistyped' } : { ...right, key: 'mistyped' };
}

function toFields(secret: Credentials): Record<string, string> {
  if (secret.kind === 'key') return { 'x-api-key': secret.key };
  return { authorization: `Basic ${Buffer.from(`${secret.user}:${secret.password}`, 'utf8').toString('base64')}` };
}

function contentType(call: Call): Record<string, string> {
  if (call.bodyBytes === 0) return {};
  return { 'content-type': call.kind === 'sba' ? 'application/octet-stream' : 'application/json' };
}

function bodyOf(call: Call): Buffer {
  return Buffer.alloc(call.bodyBytes, call.kind === 'sba' ? 0xd2 : '[1]');
}
