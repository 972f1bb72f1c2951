/** docs/alerts.md shows the message of each verdict as this program makes it. */
import { expect, it } from 'vitest';
import type { AlertMessage } from '../../../src/export/alerts/message.ts';
import { VERDICT_CODES } from '../../../src/measure/verdict/rules.ts';
import { readDocument } from '../../support/docs/documents.ts';
import { openAlerts } from '../../support/export/alerts/stand.ts';
import { RULES } from '../../support/measure/verdict-evidence.ts';

const DOCUMENT = readDocument('docs/alerts.md').text;
/** They say that nothing was found, or what somebody has asked for. */
const WITHOUT_MESSAGE = ['draining', 'quiet', 'fine'];

async function messageOf(code: string): Promise<AlertMessage | undefined> {
  const [, , applies = {}] = RULES.find(([one]) => one === code) ?? [];
  const { channel, pass } = await openAlerts();
  await pass(30, applies);
  return channel.got[0];
}

it('has a row for each code, with its message', async () => {
  const rows: string[] = [];
  for (const code of VERDICT_CODES) {
    const message = await messageOf(code);
    if (WITHOUT_MESSAGE.includes(code)) expect(message).toBeUndefined();
    else rows.push(`| \`${code}\` | ${message?.text} |`);
  }
  expect(rows).toHaveLength(VERDICT_CODES.length - WITHOUT_MESSAGE.length);
  const found = DOCUMENT.split('\n').filter((line) => /^\| `[a-z-]+` \| (The|Clients)/.test(line));
  expect(found).toEqual(rows);
});

it('has the body of a webhook', async () => {
  const [, body = ''] = /```json\n([^`]+)```/.exec(DOCUMENT) ?? [];
  const message = await messageOf('calls-fail');
  expect(JSON.parse(body)).toEqual({ ...message, id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
});
