import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { CALL_PATH } from './plant.ts';

/** What all clients together have met. */
export class Meetings {
  /** Ids of answered POSTs. */
  readonly ids: string[] = [];
  /** Answers with `Connection: close`. */
  announced = 0;
  readonly retried = {
    /** Nothing was sent: any method can be retried after a refused connection. */
    refused: 0,
    /** Likewise for a connection that waited in the backlog of a closed listener. */
    reset: 0,
    /** A GET on a reused connection that ended without a byte of an answer (RFC 9110 §9.2.2, RFC 9112 §9.3.1). */
    reused: 0,
  };
  /** Failures that no client may retry. */
  readonly failures: string[] = [];
}

export interface RestClientOptions {
  readonly method: 'GET' | 'POST';
  readonly keepsAlive: boolean;
  readonly pauseMs: number;
}

const RETRY_MS = 20;

/** Calls in a loop until `isStopped`, and retries only what is safe. */
export async function runRestClient(
  name: string,
  port: number,
  { method, keepsAlive, pauseMs }: RestClientOptions,
  meetings: Meetings,
  isStopped: () => boolean,
): Promise<void> {
  const agent = new http.Agent({ keepAlive: keepsAlive, maxSockets: 1 });
  const options = { host: '127.0.0.1', port, path: CALL_PATH, method, agent };
  for (let number = 0; !isStopped(); number += 1) {
    const id = method === 'POST' ? `${name}-${number}` : '';
    let ending = await call(options, id, meetings);
    for (; ending === 'refused' || ending === 'reset' || (ending === 'reused' && method === 'GET'); ) {
      meetings.retried[ending] += 1;
      await delay(RETRY_MS);
      ending = await call(options, id, meetings);
    }
    if (ending !== 'answered') meetings.failures.push(`${name}-${number}: ${ending}`);
    else if (id !== '') meetings.ids.push(id);
    await delay(pauseMs);
  }
  agent.destroy();
}

/** `answered`, or what happened instead. The upstream answers with the id. */
function call(options: http.RequestOptions, id: string, meetings: Meetings): Promise<string> {
  return new Promise((resolve) => {
    let hasAnswer = false;
    const request = http.request(options, (response) => {
      hasAnswer = true;
      if (response.headers.connection?.includes('close')) meetings.announced += 1;
      let body = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        body += piece;
      });
      response.on('error', (error) => resolve(`broken answer ${String(error)}`));
      response.on('end', () => {
        resolve(response.statusCode === 200 && body === id ? 'answered' : `${response.statusCode} ${body}`);
      });
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') resolve('refused');
      else if (error.code === 'ECONNRESET' && error.syscall === 'connect') resolve('reset');
      else resolve(!hasAnswer && request.reusedSocket ? 'reused' : `${error.code} ${error.message}`);
    });
    request.end(id);
  });
}
