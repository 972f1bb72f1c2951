import http from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { CALL_PATH } from './plant.ts';

/** What all clients together have met. */
export interface Meetings {
  /** Ids of answered POSTs. */
  readonly ids: string[];
  /** Failures that no client may retry. */
  readonly failures: string[];
  /** Answers with `Connection: close`. */
  announced: number;
  retried: number;
}

export interface RestClientOptions {
  readonly method: 'GET' | 'POST';
  readonly keepAlive: boolean;
  readonly pauseMs: number;
}

const RETRY_MS = 20;
/**
 * Nothing was sent: refused, or the connection waited in the backlog of a closed listener. Or a GET on a reused connection that
 * ended without a byte of an answer (RFC 9110 §9.2.2, RFC 9112 §9.3.1).
 */
const RETRIED = /^(?:ECONNREFUSED|ECONNRESET connect|reused GET)/;

/** Calls in a loop until `isStopped`, and retries only what is safe. */
export async function runRestClient(
  name: string,
  port: number,
  { method, keepAlive, pauseMs }: RestClientOptions,
  meetings: Meetings,
  isStopped: () => boolean,
): Promise<void> {
  const agent = new http.Agent({ keepAlive, maxSockets: 1 });
  const options = { host: '127.0.0.1', port, path: CALL_PATH, method, agent };
  for (let number = 0; !isStopped(); number += 1) {
    const id = method === 'POST' ? `${name}-${number}` : '';
    let ending = await call(options, id, meetings);
    for (; RETRIED.test(ending); ending = await call(options, id, meetings)) {
      meetings.retried += 1;
      await delay(RETRY_MS);
    }
    if (ending !== `200 ${id}`) meetings.failures.push(`${name}-${number}: ${ending}`);
    else if (id !== '') meetings.ids.push(id);
    await delay(pauseMs);
  }
  agent.destroy();
}

/** The status and body of the answer, or the failure. The upstream answers with the id. */
function call(options: http.RequestOptions, id: string, meetings: Meetings): Promise<string> {
  return new Promise((resolve) => {
    let hasAnswer = false;
    const request = http.request(options, (response) => {
      hasAnswer = true;
      if (response.headers.connection?.includes('close')) meetings.announced += 1;
      text(response).then(
        (body) => resolve(`${response.statusCode} ${body}`),
        (error) => resolve(`broken answer ${String(error)}`),
      );
    });
    request.on('error', ({ code, syscall, message }: NodeJS.ErrnoException) => {
      const isReused = !hasAnswer && request.reusedSocket && syscall !== 'connect';
      resolve(isReused ? `reused ${options.method}` : `${code} ${syscall} ${message}`);
    });
    request.end(id);
  });
}
