/**
 * The users of the sample control system. Each logs in, then calls, reads, downloads and uploads at a person's pace,
 * and sometimes mistypes a password or asks for something unknown.
 */
import { request } from 'undici';
import {
  createAuthFields,
  SAMPLE_ACCOUNTS,
  SAMPLE_OBJECTS,
  SAMPLE_RPCS,
  SAMPLE_SBAS,
  type SampleCredentials,
} from './plant.ts';
import { pause, pick } from './random.ts';

/** One request below the REST prefix, e.g. `{ method: 'POST', path: 'd2/rpc/E.Boiler/ReadState', body: '[1]' }`. */
interface SampleRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string | Buffer;
  /** Sent with a password or key that the server does not know. */
  readonly hasWrongPassword?: boolean;
}

export class SampleUsers {
  readonly #baseUrl: string;
  readonly #pauseMs: number;
  /** `byStatus`: answers, e.g. `{ 200: 912, 404: 31 }`. */
  readonly counts = { answered: 0, byStatus: {} as Record<number, number>, unanswered: 0 };

  /** `pauseMs`: the mean pause of each user between two requests. */
  constructor({ baseUrl, pauseMs = 400 }: { readonly baseUrl: string; readonly pauseMs?: number }) {
    this.#baseUrl = baseUrl;
    this.#pauseMs = pauseMs;
  }

  /** Logs all users in, with a request of each kind, so that there is data of each. */
  async open(signal: AbortSignal): Promise<void> {
    const openings = SAMPLE_ACCOUNTS.map(async (account) => {
      for (const request of SAMPLE_OPENING) await this.#send(account, request, signal);
    });
    await Promise.all(openings);
  }

  /** Lets all users work until the signal, which cuts requests. */
  async run(signal: AbortSignal): Promise<void> {
    const works = SAMPLE_ACCOUNTS.map(async (account) => {
      while (!signal.aborted) {
        await this.#send(account, chooseRequest(account), signal);
        await pause(this.#pauseMs, signal);
      }
    });
    await Promise.all(works);
  }

  async #send(
    account: SampleCredentials,
    { method, path, body, hasWrongPassword }: SampleRequest,
    signal: AbortSignal,
  ) {
    try {
      const headers = createAuthFields(hasWrongPassword === true ? mistyped(account) : account);
      const url = `${this.#baseUrl}/api/rest/v0/${path}`;
      const answer = await request(url, { method, headers, body: body ?? null, signal });
      await answer.body.dump({ limit: Number.POSITIVE_INFINITY, signal });
      const { byStatus } = this.counts;
      this.counts.answered += 1;
      byStatus[answer.statusCode] = (byStatus[answer.statusCode] ?? 0) + 1;
    } catch {
      // The end of the demo has cut the request, or nobody answered. Only the latter is counted.
      if (!signal.aborted) this.counts.unanswered += 1;
    }
  }
}

/** The first requests of every user. */
const SAMPLE_OPENING: readonly SampleRequest[] = [
  { method: 'GET', path: 'd2/auth/login' },
  { method: 'POST', path: 'd2/rpc/E.Boiler/ReadState', body: '[1]' },
  { method: 'GET', path: 'd2/sba/E.Files/Download?fileName=report.pdf&param=5000' },
  { method: 'GET', path: 'd2/object/H.Boiler.Temperature' },
];
const LOGOUT: SampleRequest = { method: 'GET', path: 'd2/auth/logout' };
/** How many of 100 requests are of each kind; the rest are RPCs. */
const SHARES = { sba: 15, object: 22, wrongPassword: 2, unknownName: 2, admin: 2, logout: 1 } as const;

export function chooseRequest(account: SampleCredentials): SampleRequest {
  let share = Math.random() * 100;
  const isNext = (kind: keyof typeof SHARES) => {
    share -= SHARES[kind];
    return share < 0;
  };
  if (isNext('sba')) return createSbaRequest();
  if (isNext('object')) return createObjectRequest();
  if (isNext('wrongPassword')) return { ...createRpcRequest(), hasWrongPassword: true };
  if (isNext('unknownName')) return { method: 'POST', path: 'd2/rpc/E.Boiler/NoSuchMethod', body: '[]' };
  if (isNext('admin')) return { method: 'GET', path: 'admin/info' };
  // Programs with a key never log out, so that one session always lasts.
  if (isNext('logout') && account.kind === 'basic') return LOGOUT;
  return createRpcRequest();
}

function createRpcRequest(): SampleRequest {
  return { method: 'POST', path: `d2/rpc/${pick(SAMPLE_RPCS).path}`, body: `[${Math.floor(Math.random() * 100)}]` };
}

function createSbaRequest(): SampleRequest {
  const bytes = Math.floor(Math.random() * 200_000);
  const { method, path } = pick(SAMPLE_SBAS);
  return method === 'GET'
    ? { method, path: `d2/sba/${path}?fileName=report.pdf&param=${bytes}` }
    : { method, path: `d2/sba/${path}?fileName=scan.png`, body: Buffer.alloc(bytes, 0xd2) };
}

function createObjectRequest(): SampleRequest {
  const name = encodeURIComponent(pick(SAMPLE_OBJECTS));
  return Math.random() < 0.5
    ? { method: 'GET', path: `d2/archive/${name}?beginTime=2026-01-01T00:00:00Z&oversampleSeconds=60` }
    : { method: 'GET', path: `d2/object/${name}` };
}

function mistyped(account: SampleCredentials): SampleCredentials {
  return account.kind === 'basic' ? { ...account, password: 'mistyped' } : { ...account, key: 'mistyped' };
}
