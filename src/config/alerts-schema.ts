/** The keys below `alerts`: messages by webhook and mail. */
import { z } from 'zod';
import { hasHost } from './host.ts';
import { MAX_PORT } from './host-port.ts';
import {
  authoritiesFile,
  type Conflict,
  duration,
  httpUrl,
  intWithin,
  NOT_EMPTY,
  oneOf,
  optionalText,
  parsedText,
  section,
  text,
  wholeNumber,
  yesOrNo,
} from './schema-keys.ts';
import type { Parsed } from './upstream-url.ts';

const HOOK_FORM = 'https://host[:port]/path?query or http://…, without user and fragment';
const SMTP_FORM = 'smtp://host[:port] or smtps://host[:port], without user and path';
const ADDRESS_FORM = 'a mail address such as d2-sidecar@example.org';
const ADDRESSES_FORM = `a list of at most 20, each ${ADDRESS_FORM}`;
const ADDRESS = /^[^\s@<>"(),:;\\[\]]+@[^\s@<>"(),:;\\[\]]+$/;
const RULES_FORM = 'a list of at most 100 groups of name, p95, errors and minCalls, each name once';
const ERRORS_FORM = 'a number above 0, below 1';

/** A URL whose path or query is often the credential, so no message repeats it. */
function parseHook(written: string): Parsed<string> {
  const isPlain = /^https?:\/\/[^/\\@?#\s]+(?:[/?][^\\#\s]*)?$/i.test(written) && URL.canParse(written);
  const isUsable = isPlain && hasHost(written, new URL(written));
  return isUsable ? { kind: 'ok', value: new URL(written).href } : { kind: 'bad', expected: HOOK_FORM };
}

export const parseHookUrl = (written: string) => parseHook(written.trim());

export interface MailServer {
  /** Without the brackets of IPv6. */
  readonly host: string;
  readonly port: number;
  /** TLS from the beginning. */
  readonly isTls: boolean;
}

export function parseMailServer(written: string): Parsed<MailServer> {
  const found = /^(smtps?):\/\/(\[[0-9a-f:.]+\]|[^/\\@?#\s:]+)(?::(\d{1,5}))?\/?$/i.exec(written);
  const [, scheme = '', host = '', port] = found ?? [];
  const isTls = scheme.toLowerCase() === 'smtps';
  const number = Number(port ?? (isTls ? 465 : 25));
  const asHttp = `http://${host}`;
  const isHost = URL.canParse(asHttp) && hasHost(asHttp, new URL(asHttp));
  if (found === null || !isHost || number === 0 || number > MAX_PORT) return { kind: 'bad', expected: SMTP_FORM };
  return { kind: 'ok', value: { host: host.replace(/^\[|\]$/g, ''), port: number, isTls } };
}

function checkMailServer(written: string): Parsed<string> {
  const parsed = parseMailServer(written);
  return parsed.kind === 'ok' ? { kind: 'ok', value: written } : parsed;
}

const file = (example: string, description: string) =>
  // Refuses a secret given instead of the file's path: messages would show it.
  optionalText('the path of a file', /^(?!.*(?:: |=|-----BEGIN))[^\n]+$/, example, description).meta({ hide: 'value' });

const rule = z
  .strictObject(
    {
      name: text(
        'a name such as E.Boiler.Start, or E.Boiler.* for all names that begin so',
        /^(?=.)[^*]*\*?$/s,
      ).describe('A name of an RPC or SBA RPC; `*` at its end stands for any rest.'),
      p95: duration(0, 'Begins when the p95 of a minute is longer. 0: not watched.', { zero: 'not watched' }),
      errors: z
        .number({ error: ERRORS_FORM })
        .gt(0, { error: ERRORS_FORM })
        .lt(1, { error: ERRORS_FORM })
        .optional()
        .describe('Begins when a larger share of the calls of a minute failed. Absent: not watched.'),
      minCalls: intWithin({ min: 1, max: 1_000_000 }, 'a whole number from 1 to 1000000')
        .prefault(5)
        .describe('Minutes with fewer calls are not judged.'),
    },
    { error: 'a group of name, p95, errors and minCalls' },
  )
  .transform(({ p95, ...others }) => ({ ...others, p95Ms: Number(p95) }));

export const alerts = section('restart', 'Messages when something breaks: see [alerts.md](alerts.md).', {
  webhook: section('restart', 'A `POST` for each message.', {
    url: parsedText(parseHook, HOOK_FORM)
      .optional()
      .meta({
        description: 'URL of the receiver. Absent: no webhook.',
        examples: ['https://chat.example.org/hooks/d2'],
        hide: 'always',
      }),
    urlFile: file('/etc/d2-sidecar/webhook-url', 'File with that URL, if it is a secret.'),
    format: oneOf(
      ['json', 'slack', 'teams'],
      'json',
      'Form of the body: `json` with all fields, `slack` (also Mattermost) or `teams`.',
    ),
    secretFile: file('/etc/d2-sidecar/webhook-secret', 'File with the key of `X-Signature`. Absent: not signed.'),
    caFile: authoritiesFile('/etc/d2-sidecar/ca.pem'),
  }),
  mail: section('restart', 'A mail for each message.', {
    smtp: parsedText(checkMailServer, SMTP_FORM)
      .optional()
      .meta({
        description:
          'Mail server: `smtp://` (port 25; uses STARTTLS if offered, and always with a user) or `smtps://` (port 465). Absent: no mail.',
        examples: ['smtp://mail.example.org:587'],
      }),
    from: optionalText(ADDRESS_FORM, ADDRESS, 'd2-sidecar@example.org', 'Address of the sender.'),
    to: z
      .array(text(ADDRESS_FORM, ADDRESS), { error: ADDRESSES_FORM })
      .max(20, { error: ADDRESSES_FORM })
      .prefault([])
      .meta({ description: 'Addresses of the receivers.', examples: [['operators@example.org']] }),
    user: optionalText('a name', NOT_EMPTY, 'd2-sidecar', 'User at the mail server. Absent: no login.'),
    passwordFile: file('/etc/d2-sidecar/mail-password', 'File with the password of that user.'),
    caFile: authoritiesFile('/etc/d2-sidecar/ca.pem'),
  }),
  pageUrl: httpUrl()
    .optional()
    .meta({
      description: 'Address of the live page as readers of messages reach it. Absent: that of the monitoring port.',
      examples: ['https://ops.example.org/d2/'],
    }),
  users: yesOrNo(false, 'Whether messages name the user of the slowest call.'),
  maxPerHour: wholeNumber({ min: 4, max: 1_000 }, 60, 'Maximum number of messages an hour.'),
  rules: z
    .array(rule, { error: RULES_FORM })
    .max(100, { error: RULES_FORM })
    .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, { error: RULES_FORM })
    .prefault([])
    .meta({
      description: 'Further messages, about single names: see [alerts.md](alerts.md#rules).',
      examples: [[{ name: 'E.Boiler.*', p95: '2s', errors: 0.1 }]],
    }),
});

export function findAlertConflicts({ webhook, mail, rules }: z.output<typeof alerts>): readonly Conflict[] {
  const conflicts: Conflict[] = [];
  const add = (line: string, ...names: readonly string[]) =>
    conflicts.push({ keys: names.map((name) => `alerts.${name}`), line: `alerts.${line}` });
  const { url, urlFile, secretFile, caFile } = webhook;
  if (url !== undefined && urlFile !== undefined)
    add('webhook.urlFile: cannot be combined with alerts.webhook.url', 'webhook.url', 'webhook.urlFile');
  const ofHook = secretFile === undefined ? (caFile === undefined ? undefined : 'caFile') : 'secretFile';
  if (url === undefined && urlFile === undefined && ofHook !== undefined)
    add(`webhook.url: missing, required with alerts.webhook.${ofHook}`, 'webhook.url', `webhook.${ofHook}`);
  if (mail.smtp === undefined) {
    const written = (['from', 'user', 'passwordFile', 'caFile'] as const).find((key) => mail[key] !== undefined);
    const other = written ?? (mail.to.length > 0 ? 'to' : undefined);
    if (other !== undefined)
      add(`mail.smtp: missing, required with alerts.mail.${other}`, 'mail.smtp', `mail.${other}`);
  } else {
    if (mail.from === undefined) add('mail.from: missing, required with alerts.mail.smtp', 'mail.smtp', 'mail.from');
    if (mail.to.length === 0) add('mail.to: missing, required with alerts.mail.smtp', 'mail.smtp', 'mail.to');
    if ((mail.user === undefined) !== (mail.passwordFile === undefined)) {
      const [missing, given] = mail.user === undefined ? ['user', 'passwordFile'] : ['passwordFile', 'user'];
      add(`mail.${missing}: missing, required with alerts.mail.${given}`, 'mail.user', 'mail.passwordFile');
    }
  }
  for (const { name, p95Ms, errors } of rules)
    if (p95Ms === 0 && errors === undefined) {
      const line = `rules: got neither p95 nor errors for ${JSON.stringify(name)}, expected one of them`;
      add(line, 'rules');
    }
  if (rules.length > 0 && !hasReceivers({ webhook, mail }))
    add('rules: nobody gets these messages, expected alerts.webhook or alerts.mail', 'rules');
  return conflicts;
}

interface Receivers {
  readonly webhook: { readonly url?: unknown; readonly urlFile?: unknown };
  readonly mail: { readonly smtp?: unknown };
}

/** Whether anybody gets messages. */
export function hasReceivers({ webhook, mail }: Receivers): boolean {
  return (webhook.url ?? webhook.urlFile ?? mail.smtp) !== undefined;
}
