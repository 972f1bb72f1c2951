/** All sentences of the page, in every state: one table, as Chromium shows it. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { HistoryPoint, Live, LiveApplication, Outside } from '../../../src/page/live-data.ts';
import { application, live, NOW_MS, points } from '../../support/page/samples.ts';
import { Harness } from '../../support/page/stand.ts';
import { describeInChromium, launchBrowser } from './browser.ts';
import { type Told, ToldPage } from './told-page.ts';

interface Shown {
  /** `Server: The server: 50 % of the calls failed ...`. */
  readonly verdict?: string;
  /** With their tones, e.g. `warn: Limit sessions.max was reached once in the last minute.` */
  readonly sentences?: readonly string[];
  readonly alert?: string;
  /** Texts of forms, tables and views. */
  readonly texts?: readonly string[];
}

interface Case {
  readonly name: string;
  readonly told: Told;
  /** The next answer, once the first has been shown. */
  readonly next?: Told;
  readonly hash?: string;
  readonly shows: Shown;
}

const UPSTREAM = 'good: The upstream has taken connections since 11:00:00.';
const NO_JVM = 'info: No JVM source is configured.';
const AROUND = [UPSTREAM, NO_JVM];
const QUIET = 'Quiet: Nothing to judge by: no call was answered in the last minute.';
const WELL =
  'All well: No sign of trouble with the server, the network or a client: 120 calls in the last minute, none failed, p95 20.0 ms.';
const NONE_YET = 'No RPC has been called yet.';
const NO_CALLS =
  "info: No traffic of smartWeb has passed since 11:00:00. Clients have to call the sidecar's port in place of the server's.";

const once = { sinceStart: 1, inMinute: 1 };
const older = { sinceStart: 3, inMinute: 0 };
const many = { sinceStart: 2_000, inMinute: 1_200 };

/** A minute of ten calls in each step. */
const BUSY = points(12, () => ({ rpc: [10, 0, 0.01, 0.03, 0.02] }));
const FAILING = points(12, (at) => ({ rpc: [10, at === 0 ? 60 : 0, 0.01, 0.03, 0.02] }));
const at = (hoursAgo: number) => new Date(NOW_MS - hoursAgo * 3_600_000).toISOString();

function told(
  history: readonly HistoryPoint[],
  state: Partial<Live> = {},
  differences: Partial<LiveApplication> = {},
): Live {
  return live({ ...state, seq: history.length, applications: [application(history, differences)] });
}

const NEW = { sessions: { REST: 0, COMET_WEBSOCKET: 0, COMET_LONG_POLLING: 0, created: 0 } };
const GONE = { sessions: { ...NEW.sessions, created: 7 } };
const silent = points(3, (step) => ({ sessions: 0, t: NOW_MS / 1_000 - 3_600 + (step + 1) * 5 }));
const outside = (differences: Partial<Outside>): Partial<Live> => ({
  outside: {
    sinceStart: 5,
    inMinute: 5,
    segments: [
      ['plant', 3],
      ['manager', 1],
    ],
    other: 1,
    ...differences,
  },
});
const OTHER_REMARK = '(other) are rare paths, and those that do not look like the name of an application.';

const unreachable = (reason: string): Partial<Live> => ({ upstream: { state: 'unreachable', since: at(0.5), reason } });
const SINCE = 'since 11:30:00';
const well = (...sentences: readonly string[]): Shown => ({ verdict: WELL, sentences, texts: [NONE_YET] });

const CASES: readonly Case[] = [
  { name: 'all is well', told: told(BUSY), shows: well(...AROUND) },
  {
    name: 'few calls fail',
    told: told(BUSY, {}, { worstCall: { kind: 'rpc', name: 'E.Demo.Run', failed: 1, ended: 40 } }),
    shows: { ...well(...AROUND), verdict: `${WELL} E.Demo.Run: 1 of 40 failed` },
  },
  {
    name: 'many calls fail',
    told: told(FAILING, {}, { worstCall: { kind: 'rpc', name: 'P.Balance.Year.Close', failed: 71, ended: 143 } }),
    shows: {
      ...well(...AROUND),
      verdict:
        'Server: The server: 50 % of the calls failed in the last minute (60 of 120). P.Balance.Year.Close: 71 of 143 failed',
    },
  },
  {
    name: 'many calls without a name fail',
    told: told(FAILING),
    shows: {
      ...well(...AROUND),
      verdict: 'Server: The server: 50 % of the calls failed in the last minute (60 of 120).',
    },
  },
  {
    name: 'the JVM collects garbage',
    told: told(points(12, () => ({ rpc: [10, 0, 0.01, 0.03, 0.02], gcPauseMs: 1_000 }))),
    shows: {
      ...well(...AROUND),
      verdict: 'Server: The server: its JVM spent 20 % of the last minute on collecting garbage.',
    },
  },
  {
    name: 'calls are slow',
    told: told(points(100, (step) => ({ rpc: [10, 0, 0.01, step < 88 ? 0.1 : 0.4, step < 88 ? 0.1 : 0.4] }))),
    shows: {
      ...well(...AROUND),
      verdict:
        'Server: The server, or the way from here to it: calls take longer than usual (p95 400 ms, usually 100 ms).',
    },
  },
  {
    name: 'clients leave',
    told: told(points(12, () => ({ rpc: [10, 0, 0.01, 0.03, 0.02], aborted: 2 }))),
    shows: {
      ...well(...AROUND),
      verdict:
        'Client: A client, or the network between clients and here: 24 calls of the last minute were left by the client before the answer had ended, while the server answers as usual.',
    },
  },
  {
    name: 'the sidecar drains',
    told: told(BUSY, { state: 'draining' }),
    shows: {
      ...well('warn: The sidecar is draining: it serves on, and asks clients to leave.', ...AROUND),
      verdict: 'Sidecar: The sidecar is draining, which somebody asked for: clients are being asked to leave.',
    },
  },
  {
    name: 'the sidecar stops',
    told: told(BUSY, { state: 'stopping', stopLeftSeconds: 12 }),
    shows: {
      ...well(
        'warn: The sidecar is draining: it serves on, and asks clients to leave; it stops in 12 s at the latest.',
        ...AROUND,
      ),
      verdict: 'Sidecar: The sidecar is draining, which somebody asked for: clients are being asked to leave.',
    },
  },
  {
    name: 'the sidecar starts',
    told: told(BUSY, { state: 'starting' }),
    shows: well('info: The sidecar is starting.', ...AROUND),
  },
  ...(
    [
      ['ECONNREFUSED', 'The upstream has refused connections', 'Server: The server: it has taken no connections'],
      ['ECONNRESET', 'The upstream has reset connections', 'Server: The server: it has taken no connections'],
      ['ETIMEDOUT', 'The upstream has not answered in time', 'Network: The network: there is no way to the server'],
      [
        'EHOSTUNREACH',
        'There has been no route to the upstream',
        'Network: The network: there is no way to the server',
      ],
      [
        'ENOTFOUND',
        'No address has been found for the name of the upstream',
        'Network: The network: there is no way to the server',
      ],
      [
        'D2S_ERR_UPSTREAM_CONNECT_TIMEOUT',
        'The upstream has not accepted connections in time',
        'Network: The network: there is no way to the server',
      ],
      [
        'EMFILE',
        'The upstream could not be reached',
        'Sidecar: The sidecar: its machine has had nothing left to open a connection with',
      ],
    ] as const
  ).map(
    ([reason, sentence, verdict]): Case => ({
      name: `the upstream is lost for ${reason}`,
      told: told(BUSY, unreachable(reason)),
      shows: {
        ...well(`bad: ${sentence} ${SINCE} (${reason}).`, NO_JVM),
        verdict: `${verdict} ${SINCE} (${reason}).`,
      },
    }),
  ),
  {
    name: 'the upstream has not been tried',
    told: told(BUSY, { upstream: { state: 'unknown', since: null, reason: null } }),
    shows: well('info: The upstream has not been tried yet: no call has needed it.', NO_JVM),
  },
  {
    name: 'the JVM is read',
    told: told(BUSY, {
      jvm: { state: 'available', source: 'hsperfdata', since: at(0.5), reason: null, heapMax: 2 ** 30 },
    }),
    shows: well(UPSTREAM, `good: The JVM has been read from hsperfdata ${SINCE}.`),
  },
  {
    name: 'the JVM is not read',
    told: told(BUSY, {
      jvm: { state: 'unavailable', source: null, since: at(0.5), reason: 'Is it up?', heapMax: null },
    }),
    shows: well(UPSTREAM, `bad: The JVM has not been readable ${SINCE}: Is it up?`),
  },
  {
    name: 'limits were reached in the last minute, and before',
    told: told(BUSY, {
      limits: [
        { key: 'sessions.max', ...once },
        { key: 'limits.fields', ...many },
        { key: 'timeouts.head', ...older },
      ],
    }),
    shows: well(
      ...AROUND,
      'warn: Limit sessions.max was reached once in the last minute.',
      'warn: Limit limits.fields was reached 1,200 times in the last minute.',
      'info: Limit timeouts.head was reached 3 times since 11:00:00, but not in the last minute.',
    ),
  },
  {
    name: 'requests were denied by the configuration',
    told: told(BUSY, { limits: [{ key: 'rest.deny', ...many }] }),
    shows: well(...AROUND, 'info: 1,200 requests were denied by rest.deny in the last minute.'),
  },
  {
    name: 'exchanges failed in the last minute, and before',
    told: told(BUSY, {
      failures: [
        { code: 'D2S_ERR_UPSTREAM_REFUSED', ...once },
        { code: 'D2S_ERR_UPSTREAM_TERMINATED', ...older },
      ],
    }),
    shows: well(
      ...AROUND,
      'warn: 1 exchange failed with D2S_ERR_UPSTREAM_REFUSED in the last minute.',
      'info: 3 exchanges failed with D2S_ERR_UPSTREAM_TERMINATED since 11:00:00, but not in the last minute.',
    ),
  },
  {
    name: 'connections were refused, and exchanges not measured',
    told: told(BUSY, { connections: { open: 1, refused: many }, observerErrors: once, gatewayShare: 0.3 }),
    shows: well(
      ...AROUND,
      'warn: 1,200 connections were refused at a limit in the last minute.',
      'warn: A fault in the sidecar left 1 exchange unmeasured, which passed all the same, in the last minute.',
      'info: 30 % of the exchanges of the last minute took the gateway, which costs more than the relay.',
    ),
  },
  {
    name: 'connections were refused, and exchanges not measured, before the last minute',
    told: told(BUSY, { connections: { open: 1, refused: older }, observerErrors: older }),
    shows: well(
      ...AROUND,
      'info: 3 connections were refused at a limit since 11:00:00, but not in the last minute.',
      'info: A fault in the sidecar left 3 exchanges unmeasured, which passed all the same, since 11:00:00, but not in the last minute.',
    ),
  },
  {
    name: 'the sidecar has just started',
    told: told([], { startTime: new Date(NOW_MS - 3_000).toISOString() }, NEW),
    shows: {
      verdict: QUIET,
      sentences: [
        ...AROUND,
        'info: Measuring began 3 s ago: the charts fill from the right, and figures of the last minute cover less than one.',
        "info: No traffic of smartWeb has passed since 11:59:57. Clients have to call the sidecar's port in place of the server's.",
      ],
      texts: [NONE_YET],
    },
  },
  {
    name: 'there was no traffic',
    told: told(silent, {}, NEW),
    shows: { verdict: QUIET, sentences: [...AROUND, NO_CALLS], texts: [NONE_YET] },
  },
  {
    name: 'there was no traffic for an hour',
    told: told(silent, { startTime: at(5) }, GONE),
    shows: {
      verdict: QUIET,
      sentences: [...AROUND, 'info: No traffic of smartWeb has passed since 11:00:00.'],
      texts: [NONE_YET],
    },
  },
  {
    name: 'all requests passed outside of the application',
    told: told(silent, outside({}), NEW),
    shows: {
      verdict: QUIET,
      sentences: [
        ...AROUND,
        'info: No traffic of smartWeb has passed since 11:00:00.',
        `info: 5 requests passed outside /smartWeb since 11:00:00: /plant 3, /manager 1, (other) 1. ${OTHER_REMARK}`,
        'info: If /plant is the application, start the sidecar with it: --upstream http://127.0.0.1:8080/plant',
      ],
      texts: [NONE_YET],
    },
  },
  {
    name: 'all requests passed outside of the application, below no path that looks like a name',
    told: told(silent, outside({ sinceStart: 1, segments: [], other: 1 }), NEW),
    shows: {
      verdict: QUIET,
      sentences: [
        ...AROUND,
        'info: No traffic of smartWeb has passed since 11:00:00.',
        `info: 1 request passed outside /smartWeb since 11:00:00: (other) 1. ${OTHER_REMARK}`,
        'info: If one of these paths is the application, start the sidecar with it: --upstream http://127.0.0.1:8080/<its path>',
      ],
      texts: [NONE_YET],
    },
  },
  {
    name: 'all requests passed outside of the application, below a path with a hidden character',
    told: told(silent, outside({ sinceStart: 2, segments: [['pl\ufffdant', 2]], other: 0 }), NEW),
    shows: {
      verdict: QUIET,
      sentences: [
        ...AROUND,
        'info: No traffic of smartWeb has passed since 11:00:00.',
        'info: 2 requests passed outside /smartWeb since 11:00:00: /pl\ufffdant 2.',
        'info: If one of these paths is the application, start the sidecar with it: --upstream http://127.0.0.1:8080/<its path>',
      ],
      texts: [NONE_YET],
    },
  },
  {
    name: 'all requests passed outside of the application, for a reader who may not see where',
    told: told(silent, { ...outside({ segments: null, other: null }), role: 'metrics' }, NEW),
    shows: {
      verdict: QUIET,
      sentences: [
        ...AROUND,
        'info: No traffic of smartWeb has passed since 11:00:00.',
        'info: 5 requests passed outside /smartWeb since 11:00:00; where they went needs the role sessions.',
        'info: If one of these paths is the application, start the sidecar with it: --upstream http://127.0.0.1:8080/<its path>',
      ],
      texts: [NONE_YET],
    },
  },
  {
    name: 'some requests passed outside of the application',
    told: told(BUSY, outside({ sinceStart: 9, inMinute: 1, other: 5 })),
    shows: well(
      ...AROUND,
      `info: 1 request passed outside /smartWeb in the last minute. Since 11:00:00: /plant 3, /manager 1, (other) 5. ${OTHER_REMARK}`,
    ),
  },
  {
    name: 'some requests passed outside of the application, for a reader who may not see where',
    told: told(BUSY, { ...outside({ segments: null, other: null }), role: 'metrics' }),
    shows: well(...AROUND, 'info: 5 requests passed outside /smartWeb in the last minute.'),
  },
  {
    name: 'requests passed outside of the application, but not in the last minute',
    told: told(BUSY, outside({ inMinute: 0 })),
    shows: well(...AROUND),
  },
  {
    name: 'the sidecar was restarted',
    told: told(BUSY),
    next: told(BUSY, { startTime: at(0.5) }),
    shows: well(...AROUND, 'info: The sidecar was restarted at 11:30:00: what is shown over time begins there.'),
  },
  { name: 'no answer has arrived yet', told: 'held', shows: { texts: ['Reading the first numbers …'] } },
  {
    name: 'a credential is needed',
    told: { status: 401, detail: 'This needs a credential.' },
    shows: { texts: ['This needs a credential.'] },
  },
  {
    name: 'the port refuses to answer',
    told: { status: 429, detail: 'Too many wrong credentials.', retryAfterS: 7 },
    shows: { alert: 'Too many wrong credentials. Trying again in 7 s.' },
  },
  {
    name: 'the port refuses to answer, and does not say why',
    told: { status: 503, detail: '' },
    shows: { alert: 'The monitoring port answers with 503.' },
  },
  {
    name: 'there is no connection',
    told: 'lost',
    shows: { alert: 'The monitoring port cannot be reached (no connection). Trying again every 2 s.' },
  },
  {
    name: 'the connection is lost',
    told: told(BUSY),
    next: 'lost',
    shows: {
      ...well(...AROUND),
      alert:
        'The connection to the sidecar has been lost since 12:00:0. (no connection). What is shown is of then. Trying again every 2 s.',
    },
  },
  {
    name: 'the application is unknown',
    told: told(BUSY),
    hash: '#/other/rpc',
    shows: { texts: ['There is no application “other” here. Choose another one above.'] },
  },
  {
    name: 'no SBA RPC was called',
    told: told(BUSY),
    hash: '#/smartWeb/sba',
    shows: { ...well(...AROUND), texts: ['No SBA RPC has been called yet.'] },
  },
  {
    name: 'there is no object',
    told: told(BUSY),
    hash: '#/smartWeb/objects',
    shows: { ...well(...AROUND), texts: ['No object has been monitored or read yet.'] },
  },
  {
    name: 'there is no session',
    told: told(BUSY),
    hash: '#/smartWeb/sessions',
    shows: { ...well(...AROUND), texts: ['Nobody is logged in.'] },
  },
  {
    name: 'the reader may not see sessions',
    told: told(BUSY, { role: 'metrics' }),
    hash: '#/smartWeb/sessions',
    shows: {
      ...well(...AROUND),
      texts: ['User names, addresses and single sessions need the role sessions; you have the role metrics.'],
    },
  },
  {
    name: 'the reader may not see a single session',
    told: told(BUSY, { role: 'metrics' }),
    hash: '#/smartWeb/sessions/x',
    shows: {
      ...well(...AROUND),
      texts: ['A single session needs the role sessions; you have the role metrics.'],
    },
  },
  {
    name: 'an RPC is unknown',
    told: told(BUSY),
    hash: '#/smartWeb/rpc/E.None',
    shows: { ...well(...AROUND), texts: ['Nothing of this name has been seen since counting began.'] },
  },
];

describeInChromium('the sentences of the page', () => {
  let browser: Browser;
  let harness: Harness;
  let told: ToldPage;

  beforeAll(async () => {
    [browser, harness] = await Promise.all([launchBrowser(), Harness.start()]);
    told = await ToldPage.open(browser, harness.url);
  });

  afterAll(async () => {
    await told?.close();
    await browser?.close();
    await harness?.stop();
  });

  const read = () =>
    told.page.evaluate(() => {
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

  it.each(CASES)('are true when $name', async ({ told: first, next, hash = '', shows }) => {
    const expected = { verdict: '', sentences: [], alert: '', texts: [], ...shows };
    await told.load(first, hash);
    if (next !== undefined) {
      await told.page.locator('.verdict-text').waitFor();
      told.told = next;
    }
    // The time of a loss is that of the failed poll.
    const alert = expect.stringMatching(new RegExp(`^${expected.alert.replace(/[()]/g, '\\$&')}$`));
    await expect.poll(read, { timeout: 12_000 }).toEqual({ ...expected, alert });
  });

  it('had no error, and asked no other host', () => {
    expect(told.faults).toEqual([]);
  });
});
