import { createTransport, type Transporter } from 'nodemailer';
import { formatCount } from '../../base/figures.ts';
import { createKeyFileReader } from '../../base/key-file.ts';
import type { Logger } from '../../base/logger.ts';
import { decodeText } from '../../base/trusted-file.ts';
import { parseMailServer } from '../../config/alerts-schema.ts';
import type { Config } from '../../config/config.ts';
import { isLoopback } from '../../config/host-port.ts';
import { createAuthoritiesReader } from '../../tls/authorities.ts';
import { type AlertMessage, formatMail, titleOf } from './message.ts';
import { type Channel, describeSendFailure, SendError } from './outbox.ts';

type MailConfig = Config['alerts']['mail'];

const CONNECT_MS = 5_000;
const ANSWER_MS = 10_000;
const MAX_PASSWORD_BYTES = 4_096;
const WHO = 'the mail server';
const createError = (message: string) => new SendError(message);

/** Undefined without a mail server. Files are read for each mail. */
export function createMail(config: MailConfig, logger: Logger): Channel | undefined {
  const { smtp, from, to, user, passwordFile, caFile } = config;
  const server = parseMailServer(smtp ?? '');
  if (server === undefined) return undefined;
  const { host, port, isTls } = server;
  const key = 'alerts.mail.passwordFile';
  const readPassword =
    passwordFile === undefined
      ? undefined
      : createKeyFileReader({ key, file: passwordFile, maxBytes: MAX_PASSWORD_BYTES, logger, createError }, (bytes) =>
          decodeText(bytes).replace(/\r?\n$/, ''),
        );
  const readAuthorities = createAuthoritiesReader({ key: 'alerts.mail.caFile', file: caFile, createError });
  const using = async (signal: AbortSignal, use: (transport: Transporter) => Promise<string>) => {
    const ca = (await readAuthorities())?.pem;
    const pass = await readPassword?.();
    const transport = createTransport({
      ...{ host, port, secure: isTls },
      // A password never goes over the network without TLS.
      requireTLS: !isTls && user !== undefined && !isLoopback(host),
      ...(user === undefined ? {} : { auth: { user, pass: pass ?? '' } }),
      ...(ca === undefined ? {} : { tls: { ca } }),
      ...{ connectionTimeout: CONNECT_MS, greetingTimeout: ANSWER_MS, socketTimeout: ANSWER_MS },
      ...{ disableFileAccess: true, disableUrlAccess: true },
    });
    signal.addEventListener('abort', () => transport.close(), { once: true });
    try {
      return await use(transport);
    } catch (cause) {
      throw describeMailFailure(cause);
    } finally {
      transport.close();
    }
  };
  return {
    name: 'mail',
    send: (message, signal) =>
      using(signal, async (transport) => {
        const { rejected = [] } = await transport.sendMail({ from, to: [...to], ...compose(message, from ?? '') });
        // The others have it: a repetition would send it to them again.
        if (rejected.length === 0)
          return `accepted for ${formatCount(to.length)} of ${formatCount(to.length)} addresses`;
        throw new SendError(`${WHO} refused ${rejected.length} of ${to.length} addresses of alerts.mail.to`, true);
      }),
    verify: (signal) => using(signal, async (transport) => ((await transport.verify()) ? 'ready' : 'not ready')),
  };
}

/** The end answers the beginning, so that mail programs show them together (RFC 5322 §3.6.4). */
function compose(message: AlertMessage, from: string) {
  const domain = from.slice(from.lastIndexOf('@') + 1);
  const idOf = (event: string) => `<${message.id}.${event}@${domain}>`;
  return {
    subject: `[d2-sidecar] ${titleOf(message)}`,
    text: formatMail(message),
    messageId: idOf(message.event),
    ...(message.event === 'ends' ? { inReplyTo: idOf('begins'), references: idOf('begins') } : {}),
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
  };
}

const TEXTS: Readonly<Record<string, string>> = {
  EAUTH: 'refused the login: are alerts.mail.user and passwordFile right?',
  ETLS: 'does not agree on TLS',
  ENOAUTH: 'wants a login: set alerts.mail.user and passwordFile',
};

/** nodemailer replaces the system's and OpenSSL's code by its own, and keeps it beside. */
function originalOf(cause: unknown): unknown {
  const { originalCode } = cause as { originalCode?: unknown };
  return typeof originalCode === 'string' ? Object.assign(new Error('mail'), { code: originalCode }) : cause;
}

/** Replies of SMTP have a number, which is kept; their text may quote addresses (RFC 5321 §4.2). */
function describeMailFailure(cause: unknown): SendError {
  if (cause instanceof SendError) return cause;
  const { code = '', responseCode } = cause as { code?: string; responseCode?: number };
  const reply = typeof responseCode === 'number' ? ` (SMTP ${responseCode})` : '';
  if (TEXTS[code] !== undefined) return new SendError(`${WHO} ${TEXTS[code]}${reply}`);
  if (reply === '') return describeSendFailure(originalOf(cause), WHO);
  const isFinal = (code === 'EENVELOPE' || code === 'EMESSAGE') && (responseCode ?? 0) >= 500;
  const what = code === 'EENVELOPE' ? 'refused the sender or all receivers' : 'refused the mail';
  return new SendError(`${WHO} ${what}${reply}`, isFinal);
}
