import http from 'node:http';
import https from 'node:https';
import { HONEST_CREDENTIAL, MONITOR_PASSWORD, RPC_PATH, toBasic, USERS_ADDRESS } from '../plant.ts';

export interface Ports {
  readonly port: number;
  readonly upstreamPort: number;
  readonly monitorPort: number;
  /** Whether `port` speaks TLS. */
  readonly isTls: boolean;
}

/** A call without an answer by then has failed. */
const TIMEOUT_MS = 30_000;

/** The calls of honest users. All reject for any answer except 200, and for none. */
export class HonestCalls {
  readonly #ports: Ports;
  readonly #agents: http.Agent[] = [];

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** A kept connection. */
  newConnection(): http.Agent {
    const options = { keepAlive: true, maxSockets: 1 };
    const agent = this.#ports.isTls ? new https.Agent(options) : new http.Agent(options);
    this.#agents.push(agent);
    return agent;
  }

  /** The same, directly to the upstream. */
  newDirectConnection(): http.Agent {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    this.#agents.push(agent);
    return agent;
  }

  /** `agent` false: over a new connection. */
  async rpc(agent: http.Agent | false): Promise<void> {
    await this.post(agent, RPC_PATH, '[]');
  }

  async post(agent: http.Agent | false, path: string, body: string): Promise<string> {
    const { port, isTls } = this.#ports;
    return await call(isTls ? https : http, { ...toPost(path), agent, port, rejectUnauthorized: false }, body);
  }

  async direct(agent: http.Agent): Promise<void> {
    await call(http, { ...toPost(RPC_PATH), agent, port: this.#ports.upstreamPort }, '[]');
  }

  async monitor(reader: string): Promise<void> {
    const headers = { Authorization: toBasic(reader, MONITOR_PASSWORD) };
    const address = { host: '127.0.0.1', port: this.#ports.monitorPort, localAddress: USERS_ADDRESS };
    await call(http, { ...address, agent: false, path: '/metrics', headers }, '');
  }

  close(): void {
    for (const agent of this.#agents) agent.destroy();
  }
}

function toPost(path: string): http.RequestOptions {
  const headers = { Authorization: HONEST_CREDENTIAL, 'Content-Type': 'application/json' };
  return { method: 'POST', path, host: '127.0.0.1', localAddress: USERS_ADDRESS, headers };
}

function call(client: typeof http | typeof https, options: https.RequestOptions, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = client.request({ ...options, timeout: TIMEOUT_MS }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`answered ${response.statusCode}`));
      });
    });
    request.on('timeout', () => request.destroy(new Error('not answered in time')));
    request.on('error', reject);
    request.end(body);
  });
}
