/** Header fields for the receiver, usually a credential. Read for each request, so that a new one applies at once. */
import { SidecarError } from '../../base/errors.ts';
import { createKeyFileReader } from '../../base/key-file.ts';
import type { Logger } from '../../base/logger.ts';
import { decodeText } from '../../base/trusted-file.ts';

/** Rejects with OtlpFileError. */
export type FieldsReader = () => Promise<Readonly<Record<string, string>>>;

/** An unusable file or variable. The message names the key and the place, but never its content. */
export class OtlpFileError extends SidecarError {
  constructor(message: string) {
    super('D2S_ERR_OTLP', message);
  }
}

interface FieldsOptions {
  readonly headersFile: string | undefined;
  readonly headersEnv: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly logger: Pick<Logger, 'warn'>;
}

const MAX_BYTES = 64 * 1024;
/** RFC 9110 §5.1 and §5.5, ASCII only: no obs-text. */
const LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\x20-\x7e\t]*[\x21-\x7e])[ \t]*$/;
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

export function createFieldsReader({ headersFile, headersEnv, env, logger }: FieldsOptions): FieldsReader {
  if (headersFile !== undefined) {
    const key = 'otlp.headersFile';
    const createError = (message: string) => new OtlpFileError(message);
    const read = createKeyFileReader({ key, file: headersFile, maxBytes: MAX_BYTES, logger, createError }, decodeText);
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
    const [, name = '', value = ''] = LINE.exec(line) ?? [];
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
