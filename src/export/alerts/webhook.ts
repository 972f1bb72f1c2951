import { createHmac } from 'node:crypto';
import { Agent, request } from 'undici';
import { attemptTimeoutMs } from '../../base/dial.ts';
import { createKeyFileReader } from '../../base/key-file.ts';
import type { Logger } from '../../base/logger.ts';
import { decodeText } from '../../base/trusted-file.ts';
import { parseHookUrl } from '../../config/alerts-schema.ts';
import type { Config } from '../../config/config.ts';
import { createAuthoritiesReader } from '../../tls/authorities.ts';
import { BODIES } from './message.ts';
import { type Channel, describeSendFailure, SendError } from './outbox.ts';

type WebhookConfig = Config['alerts']['webhook'];

const CONNECT_MS = 5_000;
const MAX_SECRET_BYTES = 4_096;
const MAX_URL_BYTES = 8_192;
/** Of the receiver's answer, which nobody reads. */
const MAX_ANSWER_BYTES = 65_536;
/** The receiver has read the message and cannot use it: a repetition would change nothing. */
const FINAL_STATUS: ReadonlySet<number> = new Set([400, 413, 415, 422]);
const createError = (message: string) => new SendError(message);

/** Undefined without a receiver. Files are read for each message, so that a new secret applies at once. */
export function createWebhook(config: WebhookConfig, logger: Logger): Channel | undefined {
  const { url, urlFile, secretFile, caFile, format } = config;
  if (url === undefined && urlFile === undefined) return undefined;
  const readText = (key: string, file: string, maxBytes: number) =>
    createKeyFileReader({ key: `alerts.webhook.${key}`, file, maxBytes, logger, createError }, (bytes) =>
      decodeText(bytes).trim(),
    );
  const readUrlFile = urlFile === undefined ? undefined : readText('urlFile', urlFile, MAX_URL_BYTES);
  const readUrl = async () => {
    if (readUrlFile === undefined) return url ?? '';
    const parsed = parseHookUrl(await readUrlFile());
    if (parsed.kind === 'ok') return parsed.value;
    throw new SendError(`the file of alerts.webhook.urlFile has no URL, expected ${parsed.expected}`);
  };
  const readSecret = secretFile === undefined ? undefined : readText('secretFile', secretFile, MAX_SECRET_BYTES);
  const readAuthorities = createAuthoritiesReader({ key: 'alerts.webhook.caFile', file: caFile, createError });
  const findPlace = async () => ({ url: await readUrl(), ca: (await readAuthorities())?.pem });
  return {
    name: 'webhook',
    send: async (message, signal) => {
      const body = JSON.stringify(BODIES[format](message));
      const secret = await readSecret?.();
      const signature = secret === undefined ? {} : { 'x-signature': sign(body, secret) };
      const fields = { 'content-type': 'application/json', ...signature };
      const status = await exchange({ ...(await findPlace()), method: 'POST', body, fields }, signal);
      if (status >= 200 && status < 300) return String(status);
      throw new SendError(`the receiver answered ${status}${describeStatus(status)}`, FINAL_STATUS.has(status));
    },
    // Any answer will do: many receivers know only POST.
    verify: async (signal) => `${await exchange({ ...(await findPlace()), method: 'HEAD' }, signal)} to HEAD`,
  };
}

/** `sha256=` and the HMAC of the body in hexadecimal (RFC 2104). */
export function sign(body: string, secret: string): string {
  if (secret === '') throw new SendError('the file of alerts.webhook.secretFile is empty, expected a key');
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

interface Asked {
  readonly url: string;
  /** PEM of the authorities; undefined: those of Node.js. */
  readonly ca: string | undefined;
  readonly method: 'POST' | 'HEAD';
  readonly body?: string;
  readonly fields?: Readonly<Record<string, string>>;
}

/** Resolves to the status. Rejects with a SendError. */
async function exchange({ url, ca, fields, ...asked }: Asked, signal: AbortSignal): Promise<number> {
  const connect = { timeout: CONNECT_MS, autoSelectFamilyAttemptTimeout: attemptTimeoutMs(CONNECT_MS) };
  // Messages are rare: no connection is kept between them.
  const dispatcher = new Agent({ connect: ca === undefined ? connect : { ...connect, ca } });
  try {
    const headers = { 'user-agent': 'd2-sidecar', ...fields };
    const { statusCode, body } = await request(url, { ...asked, headers, signal, dispatcher });
    await body.dump({ limit: MAX_ANSWER_BYTES }).catch(() => undefined);
    return statusCode;
  } catch (cause) {
    throw describeSendFailure(cause, 'the receiver');
  } finally {
    void dispatcher.destroy().catch(() => undefined);
  }
}

function describeStatus(status: number): string {
  if (status >= 300 && status < 400) return ', a redirect, which is not followed: set the URL that answers';
  if (FINAL_STATUS.has(status)) return ': is alerts.webhook.format right?';
  if (status === 401 || status === 403) return ': is the URL right, and the key of X-Signature?';
  return status === 404 ? ': is the URL right?' : '';
}
