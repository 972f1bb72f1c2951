/** The sentences below the verdict: the state of the upstream, the JVM and the sidecar, and why a page is empty. */
import { expect, it } from 'vitest';
import { formatTime } from '../../../src/page/format.ts';
import type { Live } from '../../../src/page/live-data.ts';
import { describeSituation, explainTraffic, type NewsSources } from '../../../src/page/sentences.ts';
import { application, live, NOW_MS, points } from '../../support/page/samples.ts';

const msBefore = (seconds: number) => NOW_MS - seconds * 1_000;
const at = (seconds: number) => new Date(msBefore(seconds)).toISOString();
const clock = (seconds: number) => formatTime(msBefore(seconds), NOW_MS);
const START = clock(3_600);
const SINCE = `since ${clock(1_800)}`;
const UNTIL_NOW = `since ${START}, but not in the last minute.`;

const UPSTREAM = `good: The upstream has accepted connections since ${START}.`;
const NO_JVM = 'info: No JVM source is configured.';
const NOT_TRIED = 'info: The upstream has not been tried yet: no call has needed it.';
const LOST = `bad: No connection to the upstream has opened ${SINCE} (ECONNREFUSED).`;
const JVM_READ = `good: The JVM has been read from hsperfdata ${SINCE}.`;
const JVM_LOST = `bad: The JVM has not been readable ${SINCE}: Is it up?`;
const STOPS =
  'warn: The sidecar is draining: it keeps serving, and asks clients to leave; it stops in 12 s at the latest.';

const once = { sinceStart: 1, inMinute: 1 };
const older = { sinceStart: 3, inMinute: 0 };
const many = { sinceStart: 2_000, inMinute: 1_200 };

function sentencesOf(state: Partial<Live>, sources: Partial<NewsSources> = {}): readonly string[] {
  const all = {
    live: live(state),
    application: application(),
    points: points(12, () => ({ rpc: { count: 10, errors: 0, p50: 0.01, p95: 0.02, p99: 0.03 } })),
    restartedAtMs: undefined,
    nowMs: NOW_MS,
    ...sources,
  };
  return [...describeSituation(all.live, NOW_MS), ...explainTraffic(all)].map(({ tone, text }) => `${tone}: ${text}`);
}

const since = at(1_800);
const upstream = (state: Live['upstream']['state'], reason: string | null, tlsFault: string | null = null) => ({
  upstream: { state, since, reason, tlsFault },
});
const jvm = (state: Live['jvm']['state'], source: string | null, reason: string | null) => ({
  jvm: { state, source, since, reason, heapMax: null },
});

it.each<[string, Partial<Live>, ...string[]]>([
  ['all is well', {}, UPSTREAM, NO_JVM],
  [
    'TLS with the upstream fails',
    upstream('unreachable', 'CERT_HAS_EXPIRED', 'its certificate has expired'),
    'bad: TLS with the upstream has failed since 11:30:00: its certificate has expired (CERT_HAS_EXPIRED).',
    NO_JVM,
  ],
  [
    'certificates of the sidecar expire',
    {
      certificates: [
        { section: 'listen.tls', expires: since, days: -1, warning: 'it expired on 2026-11-25' },
        { section: 'monitor.tls', expires: since, days: 30, warning: null },
        { section: 'upstream.tls', expires: since, days: 3, warning: 'it expires in 3 days, on 2026-12-01' },
      ],
    },
    UPSTREAM,
    NO_JVM,
    'bad: The certificate of the sidecar in listen.tls: it expired on 2026-11-25.',
    'warn: The certificate of the sidecar in upstream.tls: it expires in 3 days, on 2026-12-01.',
  ],
  ['the sidecar starts', { state: 'starting' }, 'info: The sidecar is starting.', UPSTREAM, NO_JVM],
  ['the sidecar stops', { state: 'stopping', stopLeftSeconds: 12.3 }, STOPS, UPSTREAM, NO_JVM],
  ['the upstream has not been tried', upstream('unknown', null), NOT_TRIED, NO_JVM],
  ['the upstream is lost', upstream('unreachable', 'ECONNREFUSED'), LOST, NO_JVM],
  ['the JVM is read', jvm('available', 'hsperfdata', null), UPSTREAM, JVM_READ],
  ['the reason of an unreadable JVM is a question', jvm('unavailable', null, 'Is it up?'), UPSTREAM, JVM_LOST],
])('are true when %s', (_, state, ...sentences) => {
  expect(sentencesOf(state)).toEqual(sentences);
});

it('count what is unusual in the last minute, and give what was before it and a denial by the configuration as information', () => {
  const state = {
    limits: [
      { key: 'timeouts.head', ...older },
      { key: 'sessions.max', ...once },
      { key: 'limits.fields', ...many },
      { key: 'rest.deny', ...many },
    ],
    failures: [
      { code: 'D2S_ERR_UPSTREAM_REFUSED', ...once },
      { code: 'D2S_ERR_UPSTREAM_TERMINATED', ...older },
    ],
    ...{ refusedConnections: many, observerErrors: once },
  };
  expect(sentencesOf(state)).toEqual([
    ...[UPSTREAM, NO_JVM],
    `info: Limit timeouts.head was reached 3 times ${UNTIL_NOW}`,
    'warn: Limit sessions.max was reached once in the last minute.',
    'warn: Limit limits.fields was reached 1,200 times in the last minute.',
    'info: 1,200 requests were denied by rest.deny in the last minute.',
    'warn: 1 exchange failed with D2S_ERR_UPSTREAM_REFUSED in the last minute.',
    `info: 3 exchanges failed with D2S_ERR_UPSTREAM_TERMINATED ${UNTIL_NOW}`,
    'warn: 1,200 connections were refused at a limit in the last minute.',
    'warn: A fault in the sidecar left 1 exchange served but unmeasured in the last minute.',
  ]);
});

it('tell of a restart for an hour, in place of the start', () => {
  const started = { startTime: at(1_800) };
  const restarted = `info: The sidecar was restarted at ${clock(1_800)}: the charts begin there.`;
  expect(sentencesOf(started, { restartedAtMs: msBefore(1_800) })).toContain(restarted);
  expect(sentencesOf({}, { restartedAtMs: msBefore(3_600) })).toEqual([UPSTREAM, NO_JVM]);
});

const OTHER_PORT = "Clients have to call the sidecar's port instead of the server's.";
const REMARK = '(other) are rare paths, and those that do not look like the name of an application.';
const START_WITH = 'start the sidecar with it: --upstream http://127.0.0.1:8080';
const IF_PLANT = `info: If /plant is the application, ${START_WITH}/plant`;
const IF_ONE = `info: If one of these paths is the application, ${START_WITH}/<its path>`;
const NO_TRAFFIC = `info: No traffic of smartWeb has passed since ${START}.`;
const NONE_OF_3_S = `info: No traffic of smartWeb has passed since ${clock(3)}. ${OTHER_PORT}`;
const PASSED_5 = `info: 5 requests passed outside /smartWeb since ${START}`;
const PASSED_1 = `info: 1 request passed outside /smartWeb since ${START}`;
const IN_MINUTE_1 = 'info: 1 request passed outside /smartWeb in the last minute.';
const PLACES = `: /plant 3, /manager 1, (other) 1. ${REMARK}`;
const NEED_A_ROLE = 'their paths need the role sessions.';
const MEASURING =
  'info: Measuring began 3 s ago: the charts fill from the right, and figures of the last minute cover less than one.';

const outside = (differences: Partial<Live['outside']>): Partial<Live> => {
  const segments = [
    { segment: 'plant', requests: 3 },
    { segment: 'manager', requests: 1 },
  ];
  return { outside: { sinceStart: 5, inMinute: 5, segments, other: 1, ...differences } };
};
const UNSEEN = { segments: null, other: null };
const oneOther = outside({ sinceStart: 1, segments: [], other: 1 });
const silent = (created: number) => ({
  application: application([], { sessions: { REST: 0, COMET_WEBSOCKET: 0, COMET_LONG_POLLING: 0, created } }),
  points: points(3, (step) => ({ sessions: 0, t: NOW_MS / 1_000 - 3_600 + (step + 1) * 5 })),
});

it.each<[string, Partial<Live>, Partial<NewsSources>, ...string[]]>([
  ['the sidecar has just started', { startTime: at(3) }, { ...silent(0), points: [] }, MEASURING, NONE_OF_3_S],
  ['there was no traffic', {}, silent(0), `${NO_TRAFFIC} ${OTHER_PORT}`],
  ['all of it passed outside', outside({}), silent(0), NO_TRAFFIC, `${PASSED_5}${PLACES}`, IF_PLANT],
  ['its paths do not look like names', oneOther, silent(0), NO_TRAFFIC, `${PASSED_1}: (other) 1. ${REMARK}`, IF_ONE],
  ['the reader may not see its paths', outside(UNSEEN), silent(0), NO_TRAFFIC, `${PASSED_5}; ${NEED_A_ROLE}`, IF_ONE],
  ['some passed outside', outside({ inMinute: 1 }), {}, `${IN_MINUTE_1} Since ${START}${PLACES}`],
  ['some passed outside, unseen by the reader', outside({ ...UNSEEN, inMinute: 1 }), {}, IN_MINUTE_1],
])('explain missing traffic when %s', (_, state, sources, ...sentences) => {
  const [, , ...news] = sentencesOf(state, sources);
  expect(news).toEqual(sentences);
});
