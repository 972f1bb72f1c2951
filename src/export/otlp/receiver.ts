/** The receiver: its address, the header fields to send, its certificate authorities, and the connections to it. */
import http from 'node:http';
import https from 'node:https';
import { attemptTimeoutMs } from '../../base/dial.ts';
import type { Logger } from '../../base/logger.ts';
import type { Config } from '../../config/config.ts';
import { readAuthorities } from '../../tls/pem.ts';
import { indicatedName } from '../../tls/server-name.ts';
import { createFieldsReader, type FieldsReader, readKeyFile } from './header-fields.ts';
import type { Signal } from './signal-numbers.ts';

export interface ReceiverOptions {
  readonly config: Config['otlp'] & { readonly endpoint: string };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly logger: Logger;
}

const MAX_CA_BYTES = 1024 * 1024;
/** Two: one request can wait for its answer while the next is being sent. */
const MAX_SOCKETS = 2;

/** The receiver of one signal. */
export class Receiver {
  readonly url: string;
  readonly timeoutMs: number;
  readonly agent: http.Agent | https.Agent;
  readonly #caFile: string | undefined;
  readonly #fields: FieldsReader;

  constructor(signal: Signal, { config, env, logger }: ReceiverOptions) {
    const { endpoint, headersFile, headersEnv, caFile, timeoutMs } = config;
    this.url = `${endpoint}/v1/${signal}`;
    this.timeoutMs = timeoutMs;
    this.#caFile = caFile;
    this.#fields = createFieldsReader({ headersFile, headersEnv, env, logger });
    const options = {
      keepAlive: true,
      maxSockets: MAX_SOCKETS,
      autoSelectFamilyAttemptTimeout: attemptTimeoutMs(timeoutMs),
      servername: indicatedName(new URL(endpoint).hostname),
    };
    this.agent = endpoint.startsWith('https:') ? new https.Agent(options) : new http.Agent(options);
  }

  /** Header fields of one request. Also reloads the certificate authorities. Rejects with OtlpFileError. */
  async headers(): Promise<Record<string, string>> {
    if (this.#caFile !== undefined && this.agent instanceof https.Agent) {
      // The agent pools connections by their authorities: after a change it uses none of the old ones.
      const file = this.#caFile;
      const read = (bytes: Buffer) => readAuthorities('otlp.caFile', file, bytes);
      this.agent.options.ca = await readKeyFile(file, 'otlp.caFile', MAX_CA_BYTES, read);
    }
    return { ...(await this.#fields()), 'content-type': 'application/x-protobuf' };
  }

  /** Closes all connections and aborts their requests. */
  disconnect(): void {
    this.agent.destroy();
  }
}
