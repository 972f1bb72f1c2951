/** The state of the upstream, the JVM, the sidecar and the traffic as sentences: of the last minute, or since a time. */
import { formatCount, formatSpan } from '../base/figures.ts';
import { formatTime } from './format.ts';
import { errorsOf } from './history-points.ts';
import type { Live, RecentCount } from './live-data.ts';
import type { PageState, Shown } from './page-state.ts';

export type Tone = 'good' | 'info' | 'warn' | 'bad';

interface Sentence {
  readonly tone: Tone;
  readonly text: string;
}

function isLeaving({ state, stopLeftSeconds }: Live): boolean {
  return state === 'draining' || state === 'stopping' || stopLeftSeconds !== null;
}

export function describeSituation(live: Live, nowMs: number): readonly Sentence[] {
  const start = formatTime(Date.parse(live.startTime), nowMs);
  return [
    ...describeLifecycle(live),
    describeUpstream(live.upstream, nowMs),
    describeJvm(live.jvm, nowMs),
    ...live.certificates.flatMap(describeCertificate),
    ...describeAlerts(live.alerts, nowMs),
    ...live.limits.flatMap(({ key, ...count }) => describeReached(key, count, start)),
    ...live.failures.flatMap(({ code, ...count }) =>
      describeRecent(count, start, (failed) => `${formatCounted(failed, 'exchange')} failed with ${code}`),
    ),
    ...describeRecent(
      live.refusedConnections,
      start,
      (count) => `${formatWere(count, 'connection')} refused at a limit`,
    ),
    ...describeRecent(
      live.observerErrors,
      start,
      (count) => `A fault in the sidecar left ${formatCounted(count, 'exchange')} served but unmeasured`,
    ),
  ];
}

function describeLifecycle(live: Live): Sentence[] {
  if (!isLeaving(live)) {
    return live.state === 'serving' ? [] : [{ tone: 'info', text: `The sidecar is ${live.state}.` }];
  }
  const left = live.stopLeftSeconds === null ? '' : `; it stops in ${formatSpan(live.stopLeftSeconds)} at the latest`;
  return [{ tone: 'warn', text: `The sidecar is draining: it keeps serving, and asks clients to leave${left}.` }];
}

function describeUpstream({ state, since, reason, tlsFault }: Live['upstream'], nowMs: number): Sentence {
  const time = since === null ? '' : ` since ${formatTime(Date.parse(since), nowMs)}`;
  if (state === 'reachable') return { tone: 'good', text: `The upstream has accepted connections${time}.` };
  if (state === 'unknown') {
    return { tone: 'info', text: 'The upstream has not been tried yet: no call has needed it.' };
  }
  const why = reason === null ? '' : ` (${reason})`;
  if (tlsFault === null) return { tone: 'bad', text: `No connection to the upstream has opened${time}${why}.` };
  return { tone: 'bad', text: `TLS with the upstream has failed${time}: ${tlsFault}${why}.` };
}

function describeAlerts(alerts: Live['alerts'], nowMs: number): Sentence[] {
  const { silence, channels } = alerts ?? { silence: null, channels: [] };
  const why = silence === null || silence.text === '' ? '' : ` (${silence.text})`;
  const until = silence === null ? '' : formatTime(Date.parse(silence.until), nowMs);
  const silent: Sentence[] =
    silence === null ? [] : [{ tone: 'info', text: `No messages are sent until ${until}${why}.` }];
  const failing = channels.flatMap(({ channel, waiting, failure }): Sentence[] => {
    if (failure === null) return [];
    const since = formatTime(Date.parse(failure.since), nowMs);
    const text = `Messages by ${channel} have not been delivered since ${since}: ${failure.reason}. ${formatCounted(waiting, 'message')} ${waiting === 1 ? 'waits' : 'wait'}.`;
    return [{ tone: 'bad', text }];
  });
  return [...silent, ...failing];
}

function describeCertificate({ section, days, warning }: Live['certificates'][number]): Sentence[] {
  if (warning === null) return [];
  return [{ tone: days < 0 ? 'bad' : 'warn', text: `The certificate of the sidecar in ${section}: ${warning}.` }];
}

function describeJvm({ state, source, since, reason }: Live['jvm'], nowMs: number): Sentence {
  if (state === 'none') return { tone: 'info', text: 'No JVM source is configured.' };
  const time = since === null ? '' : ` since ${formatTime(Date.parse(since), nowMs)}`;
  if (state === 'available') {
    return { tone: 'good', text: `The JVM has been read${source === null ? '' : ` from ${source}`}${time}.` };
  }
  return { tone: 'bad', text: `The JVM has not been readable${time}${reason === null ? '' : `: ${withStop(reason)}`}` };
}

/** Refusals by rest.deny are intended: no warning. */
function describeReached(key: string, count: RecentCount, start: string): Sentence[] {
  if (key === 'rest.deny') {
    return describeRecent(count, start, (hits) => `${formatWere(hits, 'request')} denied by rest.deny`, 'info');
  }
  const times = (hits: number) => (hits === 1 ? 'once' : `${formatCount(hits)} times`);
  return describeRecent(count, start, (hits) => `Limit ${key} was reached ${times(hits)}`);
}

/** A warning (or `tone`) if it happened in the last minute. Older events are information, with their start time. */
function describeRecent(
  { sinceStart, inMinute }: RecentCount,
  start: string,
  toText: (count: number) => string,
  tone: 'warn' | 'info' = 'warn',
): Sentence[] {
  if (inMinute > 0) return [{ tone, text: `${toText(inMinute)} in the last minute.` }];
  if (sinceStart === 0) return [];
  return [{ tone: 'info', text: `${toText(sinceStart)} since ${start}, but not in the last minute.` }];
}

/** E.g. `1 request`, `5 requests`. */
function formatCounted(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** E.g. `1 request was`, `5 requests were`. */
function formatWere(count: number, noun: string): string {
  return `${formatCounted(count, noun)} ${count === 1 ? 'was' : 'were'}`;
}

function withStop(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}

export function listChanges(before: PageState, now: PageState, nowMs: number): string[] {
  const news: string[] = [];
  if (before.connection.kind === 'lost' && now.connection.kind === 'live') news.push('The connection is back.');
  if (now.restartedAtMs !== undefined && now.restartedAtMs !== before.restartedAtMs) {
    news.push(`The sidecar was restarted at ${formatTime(now.restartedAtMs, nowMs)}.`);
  }
  const [old, live] = [before.live, now.live];
  if (old === undefined || live === undefined) return news;
  if (old.upstream.state !== live.upstream.state) news.push(describeUpstream(live.upstream, nowMs).text);
  if (old.jvm.state !== live.jvm.state) news.push(describeJvm(live.jvm, nowMs).text);
  if (!isLeaving(old) && isLeaving(live)) news.push('The sidecar is draining.');
  return news;
}

export type NewsSources = Pick<Shown, 'live' | 'application' | 'points' | 'nowMs'> & Pick<PageState, 'restartedAtMs'>;

const HOUR_MS = 3_600_000;
/** For the example: the usual address of a server on the same machine. */
const EXAMPLE_UPSTREAM = 'http://127.0.0.1:8080';

/** Explains an empty page: a start, a restart, no traffic, or traffic outside of the application. */
export function explainTraffic(sources: NewsSources): readonly Sentence[] {
  return [...explainBeginning(sources), ...describeTraffic(sources)].map((text): Sentence => ({ tone: 'info', text }));
}

function explainBeginning({ live, restartedAtMs, nowMs }: NewsSources): string[] {
  const sinceStartS = (nowMs - Date.parse(live.startTime)) / 1000;
  // After an hour the charts no longer reach back to the restart.
  if (restartedAtMs !== undefined && nowMs - restartedAtMs < HOUR_MS)
    return [`The sidecar was restarted at ${formatTime(restartedAtMs, nowMs)}: the charts begin there.`];
  if (sinceStartS >= 60) return [];
  return [
    `Measuring began ${formatSpan(sinceStartS)} ago: the charts fill from the right, and figures of the last minute cover less than one.`,
  ];
}

function describeTraffic(sources: NewsSources): string[] {
  const { live, application, points, nowMs } = sources;
  if (!isQuiet(sources)) return live.outside.inMinute === 0 ? [] : [describeOutsideOfMinute(live, nowMs)];
  const startMs = Date.parse(live.startTime);
  const first = points[0];
  const sinceMs = first === undefined ? startMs : Math.max(startMs, (first.t - first.seconds) * 1000);
  const { name, sessions } = application;
  const none = `No traffic of ${name === '' ? 'the application' : name} has passed since ${formatTime(sinceMs, nowMs)}.`;
  if (sessions.created > 0) return live.outside.inMinute === 0 ? [none] : [none, describeOutsideOfMinute(live, nowMs)];
  if (live.outside.sinceStart === 0)
    return [`${none} Clients have to call the sidecar's port instead of the server's.`];
  const outside = `${formatPassed(live, live.outside.sinceStart)} since ${formatTime(startMs, nowMs)}${formatPlaces(live)}.`;
  return [none, outside + explainOther(live), formatUpstreamExample(live)];
}

function isQuiet({ application: { sessions }, points }: NewsSources): boolean {
  const active = sessions.REST + sessions.COMET_WEBSOCKET + sessions.COMET_LONG_POLLING;
  const traffic = points.map(
    (point) => point.rpc.count + point.sba.count + errorsOf(point) + point.values + point.aborted + point.sessions,
  );
  return active === 0 && traffic.every((count) => count === 0);
}

function describeOutsideOfMinute(live: Live, nowMs: number): string {
  const passed = `${formatPassed(live, live.outside.inMinute)} in the last minute.`;
  if (live.outside.segments === null) return passed;
  return `${passed} Since ${formatTime(Date.parse(live.startTime), nowMs)}${formatPlaces(live)}.${explainOther(live)}`;
}

/** `5 requests passed outside /smartWeb`. */
function formatPassed({ applications }: Live, count: number): string {
  return `${formatCounted(count, 'request')} passed outside ${applications.map(({ name }) => `/${name}`).join(' and ')}`;
}

/** `: /plant 3, (other) 2`, most frequent first. */
function formatPlaces({ outside: { segments, other } }: Live): string {
  if (segments === null) return '; their paths need the role sessions';
  const places = segments.map(({ segment, requests }) => `/${segment} ${formatCount(requests)}`);
  return `: ${[...places, ...(other === null || other === 0 ? [] : [`(other) ${formatCount(other)}`])].join(', ')}`;
}

function explainOther({ outside: { other } }: Live): string {
  return (other ?? 0) === 0
    ? ''
    : ' (other) are rare paths, and those that do not look like the name of an application.';
}

function formatUpstreamExample({ outside: { segments } }: Live): string {
  const found = segments?.find(({ segment }) => !segment.includes('\ufffd'))?.segment;
  const path = found === undefined ? '<its path>' : encodeURIComponent(found);
  const which = found === undefined ? 'one of these paths is the application' : `/${found} is the application`;
  return `If ${which}, start the sidecar with it: --upstream ${EXAMPLE_UPSTREAM}/${path}`;
}
