/** Sends the calls, and measures them as their clients do. */
import { request } from 'undici';
import { basic } from '../monitor/access/access-files.ts';
import { ALL_USERS, type Call } from './calls.ts';

export interface AnsweredCall extends Call {
  readonly status: number;
  readonly seconds: number;
}

const AT_ONCE_EACH = 2;

/** One call at a time, so that their order is known. `base` e.g. `http://127.0.0.1:8081/smartWeb/api/rest/v0/`. */
export async function sendInOrder(base: string, calls: Iterable<Call>): Promise<AnsweredCall[]> {
  const answered: AnsweredCall[] = [];
  for (const call of calls) answered.push(await send(base, call));
  return answered;
}

/** All users at once, each with several calls at a time. */
export async function sendAtOnce(base: string, calls: readonly Call[]): Promise<AnsweredCall[]> {
  const queues = ALL_USERS.flatMap((user) => {
    const queue = calls.filter((call) => call.user === user).values();
    return Array.from({ length: AT_ONCE_EACH }, () => queue);
  });
  return (await Promise.all(queues.map((queue) => sendInOrder(base, queue)))).flat();
}

async function send(base: string, call: Call): Promise<AnsweredCall> {
  const began = performance.now();
  const body = call.bodyBytes > 0 ? Buffer.alloc(call.bodyBytes, call.kind === 'sba' ? 0xd2 : '[1]') : null;
  const answer = await request(base + call.path, { method: call.method, headers: fieldsOf(call), body });
  await answer.body.dump({ limit: Number.POSITIVE_INFINITY });
  return { ...call, status: answer.statusCode, seconds: (performance.now() - began) / 1000 };
}

function fieldsOf({ kind, bodyBytes, hasWrongSecret, user }: Call): Record<string, string> {
  const type = kind === 'sba' ? 'application/octet-stream' : 'application/json';
  const content: Record<string, string> = bodyBytes === 0 ? {} : { 'content-type': type };
  if (user.key !== undefined) return { ...content, 'x-api-key': hasWrongSecret ? 'mistyped' : user.key };
  const password = hasWrongSecret ? 'mistyped' : (user.password ?? '');
  return { ...content, authorization: basic(user.userName ?? '', password) };
}
