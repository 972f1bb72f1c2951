/**
 * The users of the sample control system. Each logs in, then calls, reads, downloads and uploads at a person's pace,
 * and sometimes mistypes a password or asks for something unknown. The same seed sends the same requests.
 */
import { type Dispatcher, Pool } from 'undici';
import {
  createAuthFields,
  SAMPLE_ACCOUNTS,
  SAMPLE_OBJECTS,
  SAMPLE_RPCS,
  SAMPLE_SBAS,
  type SampleCredentials,
} from './plant.ts';
import { createRandom, pause, pick, type Random } from './random.ts';

/** One request below the REST prefix, e.g. `{ method: 'POST', path: 'd2/rpc/E.Boiler/ReadState', body: '[1]' }`. */
interface SampleRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string | Buffer;
  /** Sent with a password or key that the server does not know. */
  readonly hasWrongPassword?: boolean;
}

interface SampleUsersOptions {
  readonly baseUrl: string;
  readonly seed?: number;
  /** Mean pause of each user between two requests, in milliseconds; default 400. */
  readonly pauseMs?: number;
  /** Each user leaves after this many requests; default: never. */
  readonly maxRequestsEach?: number;
}

export class SampleUsers {
  readonly #options: SampleUsersOptions;
  /** `byStatus`: answers, e.g. `{ 200: 912, 404: 31 }`. */
  readonly counts = { answered: 0, byStatus: {} as Record<number, number>, unanswered: 0 };
  #atWork = 0;
  #haveOpened: () => void = () => {};
  /** Resolves when every user has sent `SAMPLE_OPENING`, so that there is data of each kind. */
  readonly opened: Promise<void>;

  constructor(options: SampleUsersOptions) {
    this.#options = options;
    this.opened = new Promise((resolve) => {
      this.#haveOpened = resolve;
    });
  }

  /** Lets all users work until the signal, which cuts requests, or until each has sent `maxRequestsEach`. */
  async run(signal: AbortSignal): Promise<void> {
    const pool = new Pool(new URL(this.#options.baseUrl).origin, { connections: 2 * SAMPLE_ACCOUNTS.length });
    try {
      await Promise.all(SAMPLE_ACCOUNTS.map((account, index) => this.#work(account, index, { pool, signal })));
    } finally {
      await pool.destroy();
    }
  }

  async #work(account: SampleCredentials, index: number, on: { pool: Dispatcher; signal: AbortSignal }) {
    const random = createRandom((this.#options.seed ?? 1) * 1_000 + index);
    const pauseMs = this.#options.pauseMs ?? 400;
    const max = this.#options.maxRequestsEach ?? Number.POSITIVE_INFINITY;
    for (let sent = 0; sent < max && !on.signal.aborted; sent += 1) {
      await this.#send(account, SAMPLE_OPENING[sent] ?? chooseRequest(random, account), on);
      if (sent < SAMPLE_OPENING.length - 1) continue;
      if (sent === SAMPLE_OPENING.length - 1) this.#atWork += 1;
      if (this.#atWork === SAMPLE_ACCOUNTS.length) this.#haveOpened();
      await pause(random, pauseMs, on.signal);
    }
  }

  async #send(account: SampleCredentials, request: SampleRequest, on: { pool: Dispatcher; signal: AbortSignal }) {
    const { pathname } = new URL(this.#options.baseUrl);
    try {
      const answer = await on.pool.request({
        path: `${pathname}/api/rest/v0/${request.path}`,
        method: request.method,
        headers: createAuthFields(request.hasWrongPassword === true ? mistyped(account) : account),
        body: request.body ?? null,
        signal: on.signal,
      });
      await answer.body.dump({ limit: Number.POSITIVE_INFINITY, signal: on.signal });
      const { byStatus } = this.counts;
      this.counts.answered += 1;
      byStatus[answer.statusCode] = (byStatus[answer.statusCode] ?? 0) + 1;
    } catch {
      // The end of the demo has cut the request, or nobody answered. Only the latter is counted.
      if (!on.signal.aborted) this.counts.unanswered += 1;
    }
  }
}

/** The first requests of every user, without a pause. */
const SAMPLE_OPENING: readonly SampleRequest[] = [
  { method: 'GET', path: 'd2/auth/login' },
  { method: 'POST', path: 'd2/rpc/E.Boiler/ReadState', body: '[1]' },
  { method: 'GET', path: 'd2/sba/E.Files/Download?fileName=report.pdf&param=5000' },
  { method: 'GET', path: 'd2/object/H.Boiler.Temperature' },
];
const LOGOUT: SampleRequest = { method: 'GET', path: 'd2/auth/logout' };
/** How many of 100 requests are of each kind; the rest are RPCs. */
const SHARES = { sba: 15, object: 22, wrongPassword: 2, unknownName: 2, admin: 2, logout: 1 } as const;

export function chooseRequest(random: Random, account: SampleCredentials): SampleRequest {
  let share = random() * 100;
  const isNext = (kind: keyof typeof SHARES) => {
    share -= SHARES[kind];
    return share < 0;
  };
  if (isNext('sba')) return createSbaRequest(random);
  if (isNext('object')) return createObjectRequest(random);
  if (isNext('wrongPassword')) return { ...createRpcRequest(random), hasWrongPassword: true };
  if (isNext('unknownName')) return { method: 'POST', path: 'd2/rpc/E.Boiler/NoSuchMethod', body: '[]' };
  if (isNext('admin')) return { method: 'GET', path: 'admin/info' };
  // Programs with a key never log out, so that one session always lasts.
  if (isNext('logout') && account.kind === 'basic') return LOGOUT;
  return createRpcRequest(random);
}

function createRpcRequest(random: Random): SampleRequest {
  return { method: 'POST', path: `d2/rpc/${pick(random, SAMPLE_RPCS).path}`, body: `[${Math.floor(random() * 100)}]` };
}

function createSbaRequest(random: Random): SampleRequest {
  const bytes = Math.floor(random() * 200_000);
  const { method, path } = pick(random, SAMPLE_SBAS);
  return method === 'GET'
    ? { method, path: `d2/sba/${path}?fileName=report.pdf&param=${bytes}` }
    : { method, path: `d2/sba/${path}?fileName=scan.png`, body: Buffer.alloc(bytes, 0xd2) };
}

function createObjectRequest(random: Random): SampleRequest {
  const name = encodeURIComponent(pick(random, SAMPLE_OBJECTS));
  return random() < 0.5
    ? { method: 'GET', path: `d2/archive/${name}?beginTime=2026-01-01T00:00:00Z&oversampleSeconds=60` }
    : { method: 'GET', path: `d2/object/${name}` };
}

function mistyped(account: SampleCredentials): SampleCredentials {
  return account.kind === 'basic' ? { ...account, password: 'mistyped' } : { ...account, key: 'mistyped' };
}
