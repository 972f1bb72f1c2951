/** The keys below `alerts`: messages by webhook and mail. */
import { z } from 'zod';
import { hasHost, MAX_PORT } from './host-port.ts';
import * as key from './schema-keys.ts';
import { bad, ok, type Parsed, parsePlainUrl } from './upstream-url.ts';

const HOOK_FORM = 'https://host[:port]/path?query or http://…, without user and fragment';
const SMTP_FORM = 'smtp://host[:port] or smtps://host[:port], without user and path';
const ADDRESS_FORM = 'a mail address such as d2-sidecar@example.org';
const ADDRESS = /^[^\s@<>"(),:;\\[\]]+@[^\s@<>"(),:;\\[\]]+$/;
const ERRORS_FORM = 'a number above 0, below 1';

/** A URL whose path or query is often the credential, so no message repeats it. */
export function parseHookUrl(written: string): Parsed<string> {
  return parsePlainUrl(written, /^https?:\/\/[^/\\@?#\s]+(?:[/?][^\\#\s]*)?$/i, HOOK_FORM);
}

/** `host` is without the brackets of IPv6; `isTls`: TLS from the beginning. Undefined for another form. */
export function parseMailServer(written: string) {
  const found = /^(smtps?):\/\/(\[[0-9a-f:.]+\]|[^/\\@?#\s:]+)(?::(\d{1,5}))?\/?$/i.exec(written);
  const [, scheme = '', host = '', port] = found ?? [];
  const isTls = scheme.toLowerCase() === 'smtps';
  const number = Number(port ?? (isTls ? 465 : 25));
  const asHttp = `http://${host}`;
  const isHost = URL.canParse(asHttp) && hasHost(asHttp, new URL(asHttp));
  if (found === null || !isHost || number === 0 || number > MAX_PORT) return undefined;
  return { host: host.replace(/^\[|\]$/g, ''), port: number, isTls };
}

const file = (example: string, description: string) =>
  // Refuses a secret given instead of the file's path: messages would show it.
  key.hiddenText('the path of a file', /^(?!.*(?:: |=|-----BEGIN))[^\n]+$/, example, description);

const rule = key
  .group('a group of name, p95, errors and minCalls', {
    name: key.callName(),
    p95: key.duration(0, 'Begins when the p95 of a minute is longer. 0: not watched.', { zero: 'not watched' }),
    errors: z
      .number({ error: ERRORS_FORM })
      .gt(0, { error: ERRORS_FORM })
      .lt(1, { error: ERRORS_FORM })
      .optional()
      .describe('Begins when a larger share of the calls of a minute failed. Absent: not watched.'),
    minCalls: key.wholeNumber({ min: 1, max: 1_000_000 }, 5, 'Minutes with fewer calls are not judged.'),
  })
  .transform(({ p95, ...others }) => ({ ...others, p95Ms: Number(p95) }));

export const alerts = key.section('restart', 'Messages when something breaks: see [alerts.md](alerts.md).', {
  webhook: key.section('restart', 'A `POST` for each message.', {
    url: key
      .optional(
        key.parsedText(parseHookUrl, HOOK_FORM),
        'https://chat.example.org/hooks/d2',
        'URL of the receiver. Absent: no webhook.',
      )
      .meta({ hide: 'always' }),
    urlFile: file('/etc/d2-sidecar/webhook-url', 'File with that URL, if it is a secret.'),
    format: key.oneOf(
      ['json', 'slack', 'teams'],
      'json',
      'Form of the body: `json` with all fields, `slack` (also Mattermost) or `teams`.',
    ),
    secretFile: file('/etc/d2-sidecar/webhook-secret', 'File with the key of `X-Signature`. Absent: not signed.'),
    caFile: key.authoritiesFile('/etc/d2-sidecar/ca.pem'),
  }),
  mail: key.section('restart', 'A mail for each message.', {
    smtp: key.optional(
      key.parsedText((text) => (parseMailServer(text) === undefined ? bad(SMTP_FORM) : ok(text)), SMTP_FORM),
      'smtp://mail.example.org:587',
      'Mail server: `smtp://` (port 25; uses STARTTLS if offered, and always with a user) or `smtps://` (port 465). Absent: no mail.',
    ),
    from: key.optionalText(ADDRESS_FORM, ADDRESS, 'd2-sidecar@example.org', 'Address of the sender.'),
    to: key.list(key.text(ADDRESS_FORM, ADDRESS), {
      form: `a list of at most 20, each ${ADDRESS_FORM}`,
      max: 20,
      description: 'Addresses of the receivers.',
      examples: [['operators@example.org']],
    }),
    user: key.optionalText('a name', key.NOT_EMPTY, 'd2-sidecar', 'User at the mail server. Absent: no login.'),
    passwordFile: file('/etc/d2-sidecar/mail-password', 'File with the password of that user.'),
    caFile: key.authoritiesFile('/etc/d2-sidecar/ca.pem'),
  }),
  pageUrl: key.optional(
    key.httpUrl(),
    'https://ops.example.org/d2/',
    'Address of the live page for readers of messages. Absent: the monitoring port.',
  ),
  users: key.yesOrNo(false, 'Whether messages name the user of the slowest call.'),
  maxPerHour: key.wholeNumber({ min: 4, max: 1_000 }, 60, 'Maximum number of messages an hour.'),
  rules: key.listByName(rule, {
    form: 'a list of at most 100 groups of name, p95, errors and minCalls, each name once',
    description: 'Further messages, about single names: see [alerts.md](alerts.md#rules).',
    examples: [[{ name: 'E.Boiler.*', p95: '2s', errors: 0.1 }]],
  }),
});

export function* findAlertConflicts({ webhook, mail, rules }: z.output<typeof alerts>): Generator<key.Conflict> {
  const { conflict, missing } = key.conflictsBelow('alerts');
  const { url, urlFile, secretFile, caFile } = webhook;
  if (url !== undefined && urlFile !== undefined)
    yield conflict('webhook.urlFile: cannot be combined with alerts.webhook.url', 'webhook.url', 'webhook.urlFile');
  const ofHook = secretFile === undefined ? (caFile === undefined ? undefined : 'caFile') : 'secretFile';
  if (url === undefined && urlFile === undefined && ofHook !== undefined)
    yield missing('webhook.url', `webhook.${ofHook}`);
  if (mail.smtp === undefined) {
    const written = (['from', 'user', 'passwordFile', 'caFile'] as const).find((name) => mail[name] !== undefined);
    const other = written ?? (mail.to.length > 0 ? 'to' : undefined);
    if (other !== undefined) yield missing('mail.smtp', `mail.${other}`);
  } else {
    if (mail.from === undefined) yield missing('mail.from', 'mail.smtp');
    if (mail.to.length === 0) yield missing('mail.to', 'mail.smtp');
    if (mail.user === undefined && mail.passwordFile !== undefined) yield missing('mail.user', 'mail.passwordFile');
    if (mail.user !== undefined && mail.passwordFile === undefined) yield missing('mail.passwordFile', 'mail.user');
  }
  for (const { name, p95Ms, errors } of rules)
    if (p95Ms === 0 && errors === undefined)
      yield conflict(`rules: got neither p95 nor errors for ${JSON.stringify(name)}, expected one of them`, 'rules');
  if (rules.length > 0 && !hasReceivers({ webhook, mail }))
    yield conflict('rules: nobody gets these messages, expected alerts.webhook or alerts.mail', 'rules');
}

export function hasReceivers({ webhook, mail }: Pick<key.Frozen<z.output<typeof alerts>>, 'webhook' | 'mail'>) {
  return (webhook.url ?? webhook.urlFile ?? mail.smtp) !== undefined;
}
