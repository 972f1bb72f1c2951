/** The receiver, as requests reach it: its address, the fields that go along, authorities, and the connections to it. */
import http from 'node:http';
import https from 'node:https';
import type { Logger } from '../../base/logger.ts';
import type { Config } from '../../config/config.ts';
import { createFieldsReader, type FieldsReader, readKeyFile } from './fields.ts';
import type { Signal } from './signal-numbers.ts';

export interface ReceiverOptions {
  readonly config: Config['otlp'] & { readonly endpoint: string };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly logger: Logger;
}

const MAX_CA_BYTES = 1024 * 1024;
/** Two requests at a time are enough to wait for one answer while the next is on its way. */
const MAX_SOCKETS = 2;

/** For one signal. */
export class Receiver {
  readonly url: string;
  readonly timeoutMs: number;
  readonly #caFile: string | undefined;
  readonly #fields: FieldsReader;
  #agent: http.Agent | https.Agent;

  constructor(signal: Signal, { config, env, logger }: ReceiverOptions) {
    const { endpoint, headersFile, headersEnv, caFile, timeoutMs } = config;
    this.url = `${endpoint}/v1/${signal}`;
    this.timeoutMs = timeoutMs;
    this.#caFile = caFile;
    this.#fields = createFieldsReader({ headersFile, headersEnv, env, logger });
    const options = { keepAlive: true, maxSockets: MAX_SOCKETS };
    this.#agent = endpoint.startsWith('https:') ? new https.Agent(options) : new http.Agent(options);
  }

  get agent(): http.Agent | https.Agent {
    return this.#agent;
  }

  /** For one request; also the moment at which changed authorities are taken. Rejects with OtlpFileError. */
  async headers(): Promise<Record<string, string>> {
    if (this.#caFile !== undefined && this.#agent instanceof https.Agent) {
      // Connections are pooled by their authorities: with others, none of the old ones is used again.
      this.#agent.options.ca = await readKeyFile(this.#caFile, 'otlp.caFile', MAX_CA_BYTES);
    }
    return { ...(await this.#fields()), 'content-type': 'application/x-protobuf' };
  }

  /** Ends all connections, with what is under way on them. */
  disconnect(): void {
    this.#agent.destroy();
  }
}
