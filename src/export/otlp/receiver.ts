/** The receiver: its address, the header fields to send, its certificate authorities, and the connections to it. */
import http from 'node:http';
import https from 'node:https';
import { parseCodings } from '../../base/content-codings.ts';
import { attemptTimeoutMs } from '../../base/dial.ts';
import { SidecarError } from '../../base/errors.ts';
import { createKeyFileReader } from '../../base/key-file.ts';
import type { Logger } from '../../base/logger.ts';
import { decodeText } from '../../base/trusted-file.ts';
import type { Config } from '../../config/config.ts';
import { createAuthoritiesReader } from '../../tls/authorities.ts';
import { indicatedName } from '../../tls/policy.ts';
import type { Signal } from './signal-numbers.ts';

export interface ReceiverOptions {
  readonly config: Config['otlp'] & { readonly endpoint: string };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly logger: Logger;
}

/** Two: one request can wait for its answer while the next is being sent. */
const MAX_SOCKETS = 2;

const MAX_FIELDS_BYTES = 64 * 1024;
/** RFC 9110 §5.1 and §5.5, ASCII only: no obs-text. */
const FIELD_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\x20-\x7e\t]*[\x21-\x7e])[ \t]*$/;
/** Setting these would break the request. */
const RESERVED = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'host',
  'transfer-encoding',
]);

type FieldsReader = () => Promise<Readonly<Record<string, string>>>;

/** An unusable file or variable. The message names the key and the place, but never its content. */
export class OtlpFileError extends SidecarError {
  constructor(message: string) {
    super('D2S_ERR_OTLP', message);
  }
}

const createError = (message: string) => new OtlpFileError(message);

export type Receiver = ReturnType<typeof createReceiver>;

export function createReceiver(signal: Signal, options: ReceiverOptions) {
  const { endpoint, caFile, timeoutMs } = options.config;
  const readAuthorities = createAuthoritiesReader({ key: 'otlp.caFile', file: caFile, createError });
  const readFields = createFieldsReader(options);
  const agentOptions = {
    keepAlive: true,
    maxSockets: MAX_SOCKETS,
    autoSelectFamilyAttemptTimeout: attemptTimeoutMs(timeoutMs),
    servername: indicatedName(new URL(endpoint).hostname),
  };
  const agent = endpoint.startsWith('https:') ? new https.Agent(agentOptions) : new http.Agent(agentOptions);
  refuseCodedAnswers(agent);
  return {
    ...{ url: `${endpoint}/v1/${signal}`, timeoutMs, agent },
    /** Header fields of one request. Also reloads the certificate authorities. Rejects with OtlpFileError. */
    async headers(): Promise<Record<string, string>> {
      const authorities = await readAuthorities();
      // The agent pools connections by `ca`: after a change it uses none of the old ones.
      if (authorities !== undefined && agent instanceof https.Agent)
        Object.assign(agent.options, { ca: authorities.pem, secureContext: authorities.secureContext });
      return { ...(await readFields()), 'content-type': 'application/x-protobuf', 'accept-encoding': 'identity' };
    },
    /** Closes all connections and aborts their requests. */
    disconnect: () => agent.destroy(),
  };
}

/**
 * Header fields, usually a credential. Read for each request, so that a new one applies at once. The reader rejects with
 * OtlpFileError.
 */
function createFieldsReader({ config: { headersFile, headersEnv }, env, logger }: ReceiverOptions): FieldsReader {
  if (headersFile !== undefined) {
    const key = 'otlp.headersFile';
    const options = { key, file: headersFile, maxBytes: MAX_FIELDS_BYTES, logger, createError };
    const read = createKeyFileReader(options, decodeText);
    return async () => parseFields(await read(), `${headersFile} (${key})`);
  }
  if (headersEnv === undefined) return async () => ({});
  return async () => parseFields(env[headersEnv] ?? '', `the environment variable ${headersEnv} (otlp.headersEnv)`);
}

/** E.g. `{ authorization: 'Bearer abc' }` from `Authorization: Bearer abc`; ignores blank lines and `#` comments. */
function parseFields(text: string, where: string): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [, name = '', value = ''] = FIELD_LINE.exec(line) ?? [];
    if (name === '')
      throw new OtlpFileError(`Line ${index + 1} of ${where} is not a header field; expected Name: value.`);
    if (RESERVED.has(name.toLowerCase())) {
      throw new OtlpFileError(`Line ${index + 1} of ${where} sets ${name}, which the sidecar sets itself; remove it.`);
    }
    fields[name.toLowerCase()] = value;
  }
  if (Object.keys(fields).length === 0)
    throw new OtlpFileError(`There is no line Name: value in ${where}; put it there.`);
  return fields;
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

/** OpenTelemetry's transport does not show the answer's fields, so the agent looks at them first. */
function refuseCodedAnswers(agent: http.Agent): void {
  // Undocumented; http calls it for each request, after the request has got its listeners.
  const requesting = agent as unknown as { addRequest(request: http.ClientRequest, ...rest: unknown[]): void };
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
