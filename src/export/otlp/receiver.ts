/** The receiver: its address, the header fields to send, its certificate authorities, and the connections to it. */
import http from 'node:http';
import https from 'node:https';
import { parseCodings } from '../../base/content-codings.ts';
import { attemptTimeoutMs } from '../../base/dial.ts';
import { SidecarError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { Config } from '../../config/config.ts';
import { type Authorities, createAuthoritiesReader } from '../../tls/authorities.ts';
import { indicatedName } from '../../tls/server-name.ts';
import { createFieldsReader, type FieldsReader, OtlpFileError } from './header-fields.ts';
import type { Signal } from './signal-numbers.ts';

export interface ReceiverOptions {
  readonly config: Config['otlp'] & { readonly endpoint: string };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly logger: Logger;
}

/** Two: one request can wait for its answer while the next is being sent. */
const MAX_SOCKETS = 2;

/** The receiver of one signal. */
export class Receiver {
  readonly url: string;
  readonly timeoutMs: number;
  readonly agent: http.Agent | https.Agent;
  readonly #readAuthorities: (() => Promise<Authorities>) | undefined;
  readonly #fields: FieldsReader;

  constructor(signal: Signal, { config, env, logger }: ReceiverOptions) {
    const { endpoint, headersFile, headersEnv, caFile, timeoutMs } = config;
    this.url = `${endpoint}/v1/${signal}`;
    this.timeoutMs = timeoutMs;
    const createError = (message: string) => new OtlpFileError(message);
    if (caFile !== undefined)
      this.#readAuthorities = createAuthoritiesReader({ key: 'otlp.caFile', file: caFile, createError });
    this.#fields = createFieldsReader({ headersFile, headersEnv, env, logger });
    const options = {
      keepAlive: true,
      maxSockets: MAX_SOCKETS,
      autoSelectFamilyAttemptTimeout: attemptTimeoutMs(timeoutMs),
      servername: indicatedName(new URL(endpoint).hostname),
    };
    this.agent = endpoint.startsWith('https:') ? new https.Agent(options) : new http.Agent(options);
    refuseCodedAnswers(this.agent);
  }

  /** Header fields of one request. Also reloads the certificate authorities. Rejects with OtlpFileError. */
  async headers(): Promise<Record<string, string>> {
    const authorities = await this.#readAuthorities?.();
    // The agent pools connections by `ca`: after a change it uses none of the old ones.
    if (authorities !== undefined && this.agent instanceof https.Agent)
      Object.assign(this.agent.options, { ca: authorities.pem, secureContext: authorities.secureContext });
    return { ...(await this.#fields()), 'content-type': 'application/x-protobuf', 'accept-encoding': 'identity' };
  }

  /** Closes all connections and aborts their requests. */
  disconnect(): void {
    this.agent.destroy();
  }
}

/** A success whose body needs a decoder. It may report rejected items, so it does not count as a success. */
export class CodedAnswerError extends SidecarError {
  constructor() {
    super(
      'D2S_ERR_OTLP',
      'it answered with a Content-Encoding, where identity was asked for; switch compression off there',
    );
  }
}

interface RequestingAgent {
  /** Undocumented; http calls it for each request, after the request has got its listeners. */
  addRequest(request: http.ClientRequest, ...rest: unknown[]): void;
}

/** OpenTelemetry's transport does not show the answer's fields, so the agent looks at them first. */
function refuseCodedAnswers(agent: http.Agent): void {
  const requesting = agent as unknown as RequestingAgent;
  const addRequest = requesting.addRequest.bind(agent);
  requesting.addRequest = (request, ...rest) => {
    const listeners = request.listeners('response') as ((response: http.IncomingMessage) => void)[];
    request.removeAllListeners('response');
    request.once('response', (response) => {
      const { statusCode = 0, headers } = response;
      if (statusCode < 200 || statusCode > 299 || parseCodings(headers['content-encoding']).length === 0) {
        for (const receive of listeners) receive(response);
        return;
      }
      response.on('error', () => undefined);
      request.destroy(new CodedAnswerError());
    });
    addRequest(request, ...rest);
  };
}
