import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { CALL_PATH } from './plant.ts';

/** The failures that all clients together have seen. */
export class Meetings {
  answered = 0;
  /** Nothing was sent: any method can be retried after a refused connection. */
  refused = 0;
  /** Likewise for a connection that waited in the backlog of a closed listener. */
  reset = 0;
  /** A GET on a reused connection that ended without a byte of an answer (RFC 9110 §9.2.2, RFC 9112 §9.3.1). */
  reused = 0;
  /** Failures that no client may retry. */
  readonly failures: string[] = [];
  /** Status and `Connection: close` of answers since the last read. */
  announced = 0;
}

export interface RestClientOptions {
  readonly method: 'GET' | 'POST';
  readonly keepsAlive: boolean;
  readonly pauseMs: number;
}

const RETRY_MS = 20;

/** A client that calls in a loop, and retries only what is safe. */
export class RestClient {
  /** Ids of the answered calls. */
  readonly ids: string[] = [];
  readonly #name: string;
  readonly #port: number;
  readonly #options: RestClientOptions;
  readonly #meetings: Meetings;
  readonly #agent: http.Agent;
  #isStopped = false;

  constructor(name: string, port: number, options: RestClientOptions, meetings: Meetings) {
    this.#name = name;
    this.#port = port;
    this.#options = options;
    this.#meetings = meetings;
    this.#agent = new http.Agent({ keepAlive: options.keepsAlive, maxSockets: 1 });
  }

  async run(): Promise<void> {
    for (let number = 0; !this.#isStopped; number += 1) {
      await this.#callUntilAnswered(`${this.#name}-${number}`);
      await delay(this.#options.pauseMs);
    }
    this.#agent.destroy();
  }

  stop(): void {
    this.#isStopped = true;
  }

  async #callUntilAnswered(id: string): Promise<void> {
    for (;;) {
      const ending = await this.#call(id);
      if (ending === 'answered') {
        this.#meetings.answered += 1;
        if (this.#options.method === 'POST') this.ids.push(id);
        return;
      }
      if (ending === 'refused') this.#meetings.refused += 1;
      else if (ending === 'reset') this.#meetings.reset += 1;
      else if (ending === 'reused' && this.#options.method === 'GET') this.#meetings.reused += 1;
      else {
        this.#meetings.failures.push(`${id}: ${ending}`);
        return;
      }
      await delay(RETRY_MS);
    }
  }

  #call(id: string): Promise<string> {
    const { method } = this.#options;
    return new Promise((resolve) => {
      const options = { host: '127.0.0.1', port: this.#port, path: CALL_PATH, method, agent: this.#agent };
      let hasAnswer = false;
      const request = http.request(options, (response) => {
        hasAnswer = true;
        if (response.headers.connection?.includes('close')) this.#meetings.announced += 1;
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (piece: string) => {
          body += piece;
        });
        response.on('error', (error) => resolve(`broken answer ${String(error)}`));
        response.on('end', () => {
          const expected = method === 'POST' ? id : '';
          resolve(response.statusCode === 200 && body === expected ? 'answered' : `${response.statusCode} ${body}`);
        });
      });
      request.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNREFUSED') resolve('refused');
        else if (error.code === 'ECONNRESET' && error.syscall === 'connect') resolve('reset');
        else if (!hasAnswer && request.reusedSocket) resolve('reused');
        else resolve(`${error.code} ${error.message}`);
      });
      request.end(method === 'POST' ? id : undefined);
    });
  }
}
