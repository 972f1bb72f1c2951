/** All sentences of the page, in every state: one table, as Chromium shows it. */
import { beforeAll, expect, it } from 'vitest';
import type { HistoryPoint, Live, LiveApplication, Outside } from '../../../src/page/live-data.ts';
import { application, live, NOW_MS, points } from '../../support/page/samples.ts';
import { describeInChromium } from './browser.ts';
import { type Told, ToldPage } from './told-page.ts';

interface Shown {
  readonly verdict?: string;
  /** With their tones, e.g. `warn: Limit sessions.max was reached once in the last minute.` */
  readonly sentences?: readonly string[];
  readonly alert?: string;
  readonly texts?: readonly string[];
}

interface Case extends Shown {
  readonly name: string;
  readonly told: Told;
  readonly next?: Told;
  readonly hash?: string;
}

const UPSTREAM = 'good: The upstream has accepted connections since 11:00:00.';
const NO_JVM = 'info: No JVM source is configured.';
const AROUND = [UPSTREAM, NO_JVM];
const WELL =
  'All well: No sign of trouble with the server, the network or a client: 120 calls in the last minute, none failed, p95 20.0 ms.';
const NONE_YET = 'No RPC has been called yet.';
const NO_TRAFFIC = 'info: No traffic of smartWeb has passed since 11:00:00.';
const OTHER_PORT = "Clients have to call the sidecar's port instead of the server's.";
const OTHER_REMARK = '(other) are rare paths, and those that do not look like the name of an application.';
const START_WITH = 'start the sidecar with it: --upstream http://127.0.0.1:8080';
const ONE_OF_THESE = `info: If one of these paths is the application, ${START_WITH}/<its path>`;
const UNTIL_NOW = 'since 11:00:00, but not in the last minute.';
const SINCE = 'since 11:30:00';
const NO_WAY = 'Network: The network: there is no route to the server';
const NO_CONNECTIONS = 'Server: The server: it has not accepted connections';
const THE_ROLE = 'the role sessions; you have the role metrics.';
const DRAINS = 'warn: The sidecar is draining: it keeps serving, and asks clients to leave';
const BEING_ASKED = 'Sidecar: The sidecar is draining on request: clients are asked to leave.';

const once = { sinceStart: 1, inMinute: 1 };
const older = { sinceStart: 3, inMinute: 0 };
const many = { sinceStart: 2_000, inMinute: 1_200 };
const at = (hoursAgo: number) => new Date(NOW_MS - hoursAgo * 3_600_000).toISOString();

const minute = (differences: (step: number) => Partial<HistoryPoint> = () => ({})) =>
  points(12, (step) => ({ rpc: [10, 0, 0.01, 0.03, 0.02], ...differences(step) }));
const BUSY = minute();
const FAILING = minute((step) => ({ rpc: [10, step === 0 ? 60 : 0, 0.01, 0.03, 0.02] }));
const silent = points(3, (step) => ({ sessions: 0, t: NOW_MS / 1_000 - 3_600 + (step + 1) * 5 }));
const SLOWER = points(100, (step) => ({ rpc: [10, 0, 0.01, step < 88 ? 0.1 : 0.4, step < 88 ? 0.1 : 0.4] }));

function told(
  history: readonly HistoryPoint[],
  state: Partial<Live> = {},
  differences: Partial<LiveApplication> = {},
): Live {
  return live({ ...state, seq: history.length, applications: [application(history, differences)] });
}

const worst = (name: string, failed: number, ended: number) => ({
  worstCall: { kind: 'rpc' as const, name, failed, ended },
});
const sessions = (created: number) => ({
  sessions: { REST: 0, COMET_WEBSOCKET: 0, COMET_LONG_POLLING: 0, created },
});
const outside = (differences: Partial<Outside>): Partial<Live> => {
  const segments: Outside['segments'] = [
    ['plant', 3],
    ['manager', 1],
  ];
  return { outside: { sinceStart: 5, inMinute: 5, segments, other: 1, ...differences } };
};
const NOT_SEEN = { segments: null, other: null };
const jvm = (state: Live['jvm']['state'], source: string | null, reason: string | null, heapMax: number | null) => ({
  jvm: { state, source, since: at(0.5), reason, heapMax },
});

const well = (name: string, state: Partial<Live>, ...sentences: readonly string[]): Case => ({
  ...{ name, told: told(BUSY, state), verdict: WELL, sentences: [...AROUND, ...sentences], texts: [NONE_YET] },
});
const blamed = (name: string, answer: Live, verdict: string, sentences: readonly string[] = AROUND): Case => ({
  ...{ name, told: answer, verdict, sentences, texts: [NONE_YET] },
});
const quiet = (name: string, answer: Live, ...sentences: readonly string[]): Case => ({
  ...blamed(name, answer, 'Quiet: Nothing to judge by: no call was answered in the last minute.'),
  sentences: [...AROUND, ...sentences],
});
const lost = (reason: string, sentence: string, verdict: string): Case =>
  blamed(
    `the upstream is lost for ${reason}`,
    told(BUSY, { upstream: { state: 'unreachable', since: at(0.5), reason } }),
    `${verdict} ${SINCE} (${reason}).`,
    [`bad: ${sentence} ${SINCE} (${reason}).`, NO_JVM],
  );
const atTable = (name: string, hash: string, text: string, state: Partial<Live> = {}): Case => ({
  ...{ ...well(name, state), hash: `#/smartWeb/${hash}`, texts: [text] },
});
const without = (name: string, answer: Told, shown: Shown): Case => ({ name, told: answer, ...shown });

const CASES: readonly Case[] = [
  well('all is well', {}),
  blamed('few calls fail', told(BUSY, {}, worst('E.Demo.Run', 1, 40)), `${WELL} E.Demo.Run: 1 of 40 failed`),
  blamed(
    'many calls fail',
    told(FAILING, {}, worst('P.Balance.Year.Close', 71, 143)),
    'Server: The server: 50 % of the calls failed in the last minute (60 of 120). P.Balance.Year.Close: 71 of 143 failed',
  ),
  blamed(
    'many calls without a name fail',
    told(FAILING),
    'Server: The server: 50 % of the calls failed in the last minute (60 of 120).',
  ),
  blamed(
    'the JVM collects garbage',
    told(minute(() => ({ gcPauseMs: 1_000 }))),
    'Server: The server: its JVM spent 20 % of the last minute on collecting garbage.',
  ),
  blamed(
    'calls are slow',
    told(SLOWER),
    'Server: The server, or the network between the sidecar and it: calls take longer than usual (p95 400 ms, usually 100 ms).',
  ),
  blamed(
    'clients leave',
    told(minute(() => ({ aborted: 2 }))),
    'Client: A client, or the network between clients and here: 24 calls of the last minute were aborted by the client before the answer had ended, while the server answers as usual.',
  ),
  blamed('the sidecar drains', told(BUSY, { state: 'draining' }), BEING_ASKED, [`${DRAINS}.`, ...AROUND]),
  blamed('the sidecar stops', told(BUSY, { state: 'stopping', stopLeftSeconds: 12 }), BEING_ASKED, [
    ...[`${DRAINS}; it stops in 12 s at the latest.`, ...AROUND],
  ]),
  blamed('the sidecar starts', told(BUSY, { state: 'starting' }), WELL, ['info: The sidecar is starting.', ...AROUND]),
  lost('ECONNREFUSED', 'The upstream has refused connections', NO_CONNECTIONS),
  lost('ECONNRESET', 'The upstream has reset connections', NO_CONNECTIONS),
  lost('ETIMEDOUT', 'The upstream has not answered in time', NO_WAY),
  lost('EHOSTUNREACH', 'There has been no route to the upstream', NO_WAY),
  lost('ENOTFOUND', 'No address has been found for the name of the upstream', NO_WAY),
  lost('D2S_ERR_UPSTREAM_CONNECT_TIMEOUT', 'The upstream has not accepted connections in time', NO_WAY),
  lost(
    'EMFILE',
    'The upstream could not be reached',
    'Sidecar: The sidecar: its machine has no resources left to open a connection',
  ),
  blamed(
    'the upstream has not been tried',
    told(BUSY, { upstream: { state: 'unknown', since: null, reason: null } }),
    WELL,
    ['info: The upstream has not been tried yet: no call has needed it.', NO_JVM],
  ),
  blamed('the JVM is read', told(BUSY, jvm('available', 'hsperfdata', null, 2 ** 30)), WELL, [
    ...[UPSTREAM, `good: The JVM has been read from hsperfdata ${SINCE}.`],
  ]),
  blamed('the JVM is not read', told(BUSY, jvm('unavailable', null, 'Is it up?', null)), WELL, [
    ...[UPSTREAM, `bad: The JVM has not been readable ${SINCE}: Is it up?`],
  ]),
  well(
    'limits were reached in the last minute, and before',
    {
      limits: [
        { key: 'sessions.max', ...once },
        { key: 'limits.fields', ...many },
        { key: 'timeouts.head', ...older },
      ],
    },
    'warn: Limit sessions.max was reached once in the last minute.',
    'warn: Limit limits.fields was reached 1,200 times in the last minute.',
    `info: Limit timeouts.head was reached 3 times ${UNTIL_NOW}`,
  ),
  well(
    'requests were denied by the configuration',
    { limits: [{ key: 'rest.deny', ...many }] },
    'info: 1,200 requests were denied by rest.deny in the last minute.',
  ),
  well(
    'exchanges failed in the last minute, and before',
    {
      failures: [
        { code: 'D2S_ERR_UPSTREAM_REFUSED', ...once },
        { code: 'D2S_ERR_UPSTREAM_TERMINATED', ...older },
      ],
    },
    'warn: 1 exchange failed with D2S_ERR_UPSTREAM_REFUSED in the last minute.',
    `info: 3 exchanges failed with D2S_ERR_UPSTREAM_TERMINATED ${UNTIL_NOW}`,
  ),
  well(
    'connections were refused, and exchanges not measured',
    { connections: { open: 1, refused: many }, observerErrors: once, gatewayShare: 0.3 },
    'warn: 1,200 connections were refused at a limit in the last minute.',
    'warn: A fault in the sidecar left 1 exchange served but unmeasured in the last minute.',
    'info: 30 % of the exchanges of the last minute took the gateway, which costs more than the relay.',
  ),
  well(
    'connections were refused, and exchanges not measured, before the last minute',
    { connections: { open: 1, refused: older }, observerErrors: older },
    `info: 3 connections were refused at a limit ${UNTIL_NOW}`,
    `info: A fault in the sidecar left 3 exchanges served but unmeasured ${UNTIL_NOW}`,
  ),
  quiet(
    'the sidecar has just started',
    told([], { startTime: new Date(NOW_MS - 3_000).toISOString() }, sessions(0)),
    'info: Measuring began 3 s ago: the charts fill from the right, and figures of the last minute cover less than one.',
    `info: No traffic of smartWeb has passed since 11:59:57. ${OTHER_PORT}`,
  ),
  quiet('there was no traffic', told(silent, {}, sessions(0)), `${NO_TRAFFIC} ${OTHER_PORT}`),
  quiet('there was no traffic for an hour', told(silent, { startTime: at(5) }, sessions(7)), NO_TRAFFIC),
  quiet(
    'all requests passed outside of the application',
    told(silent, outside({}), sessions(0)),
    NO_TRAFFIC,
    `info: 5 requests passed outside /smartWeb since 11:00:00: /plant 3, /manager 1, (other) 1. ${OTHER_REMARK}`,
    `info: If /plant is the application, ${START_WITH}/plant`,
  ),
  quiet(
    'all requests passed outside of the application, below no path that looks like a name',
    told(silent, outside({ sinceStart: 1, segments: [], other: 1 }), sessions(0)),
    NO_TRAFFIC,
    `info: 1 request passed outside /smartWeb since 11:00:00: (other) 1. ${OTHER_REMARK}`,
    ONE_OF_THESE,
  ),
  quiet(
    'all requests passed outside of the application, below a path with a hidden character',
    told(silent, outside({ sinceStart: 2, segments: [['pl\ufffdant', 2]], other: 0 }), sessions(0)),
    NO_TRAFFIC,
    'info: 2 requests passed outside /smartWeb since 11:00:00: /pl\ufffdant 2.',
    ONE_OF_THESE,
  ),
  quiet(
    'all requests passed outside of the application, for a reader who may not see where',
    told(silent, { ...outside(NOT_SEEN), role: 'metrics' }, sessions(0)),
    NO_TRAFFIC,
    'info: 5 requests passed outside /smartWeb since 11:00:00; their paths need the role sessions.',
    ONE_OF_THESE,
  ),
  well(
    'some requests passed outside of the application',
    outside({ sinceStart: 9, inMinute: 1, other: 5 }),
    `info: 1 request passed outside /smartWeb in the last minute. Since 11:00:00: /plant 3, /manager 1, (other) 5. ${OTHER_REMARK}`,
  ),
  well(
    'some requests passed outside of the application, for a reader who may not see where',
    { ...outside(NOT_SEEN), role: 'metrics' },
    'info: 5 requests passed outside /smartWeb in the last minute.',
  ),
  well('requests passed outside of the application, but not in the last minute', outside({ inMinute: 0 })),
  {
    ...well('the sidecar was restarted', {}, 'info: The sidecar was restarted at 11:30:00: the charts begin there.'),
    next: told(BUSY, { startTime: at(0.5) }),
  },
  without('no answer has arrived yet', 'held', { texts: ['Reading the first numbers …'] }),
  without(
    'a credential is needed',
    { status: 401, detail: 'This needs a credential.' },
    { texts: ['This needs a credential.'] },
  ),
  without(
    'the port refuses to answer',
    { status: 429, detail: 'Too many wrong credentials.', retryAfterS: 7 },
    { alert: 'Too many wrong credentials. Trying again in 7 s.' },
  ),
  without(
    'the port refuses to answer, and does not say why',
    { status: 503, detail: '' },
    { alert: 'The monitoring port answers with 503.' },
  ),
  without('there is no connection', 'lost', {
    alert: 'The monitoring port cannot be reached (no connection). Trying again every 2 s.',
  }),
  {
    ...well('the connection is lost', {}),
    next: 'lost',
    alert:
      'The connection to the sidecar has been lost since 12:00:0. (no connection). The numbers are from then. Trying again every 2 s.',
  },
  {
    ...without('the application is unknown', told(BUSY), {
      texts: ['There is no application “other” here. Choose another one above.'],
    }),
    hash: '#/other/rpc',
  },
  atTable('no SBA RPC was called', 'sba', 'No SBA RPC has been called yet.'),
  atTable('there is no object', 'objects', 'No object has been monitored or read yet.'),
  atTable('there is no session', 'sessions', 'Nobody is logged in.'),
  atTable('the reader may not see sessions', 'sessions', `User names, addresses and single sessions need ${THE_ROLE}`, {
    role: 'metrics',
  }),
  atTable('the reader may not see a single session', 'sessions/x', `A single session needs ${THE_ROLE}`, {
    role: 'metrics',
  }),
  atTable('an RPC is unknown', 'rpc/E.None', 'Nothing of this name has been seen since counting began.'),
];

describeInChromium('the sentences of the page', (chromium) => {
  let page: ToldPage;
  beforeAll(async () => {
    page = await ToldPage.open(chromium);
  });

  const read = () =>
    page.page.evaluate(() => {
      const texts = (selector: string) =>
        Array.from(document.querySelectorAll<HTMLElement>(selector), (element) =>
          element.innerText.replace(/\s+/g, ' ').trim(),
        );
      const tones = Array.from(document.querySelectorAll('.sentences li'), (element) => element.className);
      return {
        verdict: [...texts('.badge'), ...texts('.verdict-text')].join(': '),
        sentences: texts('.sentences li').map((text, at) => `${tones[at]}: ${text}`),
        alert: texts('[role=alert]').join(),
        texts: texts('main .empty, main .sign-in > p:first-of-type, main .hidden-sessions > p, main .gone'),
      };
    });

  it.each(CASES)('are true when $name', async ({ name: _, told: first, next, hash = '', alert = '', ...shown }) => {
    await page.load(first, hash);
    if (next !== undefined) {
      await page.page.locator('.verdict-text').waitFor();
      page.told = next;
    }
    // The time of a loss is that of the failed poll.
    const shownAlert = expect.stringMatching(new RegExp(`^${alert.replace(/[()]/g, '\\$&')}$`));
    const expected = { verdict: '', sentences: [], texts: [], ...shown, alert: shownAlert };
    await expect.poll(read, { timeout: 12_000 }).toEqual(expected);
  });
});
