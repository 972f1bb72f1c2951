/** A message, and its forms: JSON, Slack, Teams and mail. */
import { sanitizeText } from '../../base/shown-text.ts';

/** Of the verdict's subjects: those that have the trouble. */
export const ALERT_SUBJECTS = ['server', 'network', 'client', 'sidecar'] as const;

/** What an episode is about. */
export interface Finding {
  /** Context path without slashes; `''` is the root. */
  readonly application: string;
  readonly subject: (typeof ALERT_SUBJECTS)[number];
  /** A code of the verdict, or `threshold` (`alerts.rules`). */
  readonly code: string;
  /** The call to look at first. */
  readonly kind: string | null;
  readonly name: string | null;
  readonly text: string;
}

/** The body of the webhook. Times are ISO 8601. */
export interface AlertMessage extends Omit<Finding, 'kind'> {
  /** The same for the beginning and the end. */
  readonly id: string;
  readonly event: 'begins' | 'ends' | 'test';
  readonly since: string;
  /** Null while it lasts. */
  readonly until: string | null;
  /** The view of the live page. */
  readonly url: string;
}

const MAX_TEXT = 2_000;
const MAX_NAME = 256;
const ROOT = '-';

/** On one line, and short enough for every receiver. */
export function shorten(text: string, max = MAX_TEXT): string {
  const shown = sanitizeText(text);
  return shown.length <= max ? shown : `${shown.slice(0, max - 1)}…`;
}

export function shortenName(name: string | null): string | null {
  return name === null ? null : shorten(name, MAX_NAME);
}

/** The view of the call, e.g. `http://host:9280/#/smartWeb/rpc/E.Boiler.Start` (page/route.ts). */
export function linkTo(pageUrl: string, { application, kind, name }: Finding): string {
  const isCall = (kind === 'rpc' || kind === 'sba') && name !== null && !name.endsWith('*');
  const view = isCall ? [kind, shorten(name, MAX_NAME)] : ['rpc'];
  return `${pageUrl}#/${[application === '' ? ROOT : application, ...view].map(encodeURIComponent).join('/')}`;
}

const TITLES = { begins: 'Begins', ends: 'Over', test: 'Test' } as const;

/** One line, e.g. `Begins: /smartWeb: calls fail (server)`. */
export function titleOf({ event, application, code, subject, name }: AlertMessage): string {
  const what = code.replaceAll('-', ' ');
  return `${TITLES[event]}: /${application}: ${what}${name === null ? '' : `, ${name}`} (${subject})`;
}

/** The text of a mail, lines of one sentence or field. */
export function formatMail({ text, since, until, url, id }: AlertMessage): string {
  const end = until === null ? [] : [`Until: ${until}`];
  return [text, '', `Since: ${since}`, ...end, `Page:  ${url}`, `Id:    ${id}`, ''].join('\n');
}

/** The special characters of Slack's markup. */
const SLACK: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

export const BODIES: Readonly<Record<'json' | 'slack' | 'teams', (message: AlertMessage) => object>> = {
  json: (message) => message,
  slack: (message) => {
    const lines = `*${titleOf(message)}*\n${message.text}`.replace(/[&<>]/g, (found) => SLACK[found] ?? found);
    return { text: `${lines}\n<${message.url}|Open the page>` };
  },
  teams: (message) => ({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [
            { type: 'TextBlock', text: escapeCard(titleOf(message)), weight: 'Bolder', wrap: true },
            { type: 'TextBlock', text: escapeCard(message.text), wrap: true },
          ],
          actions: [{ type: 'Action.OpenUrl', title: 'Open the page', url: message.url }],
        },
      },
    ],
  }),
};

/** Text blocks of cards read a part of Markdown: names have `*` and `_`. */
function escapeCard(text: string): string {
  return text.replace(/[\\*_[\]()#`~<>]/g, (found) => `\\${found}`);
}
