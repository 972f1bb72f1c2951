/** Sentences that explain an empty page: a start, a restart, no traffic, or traffic outside of the application. */
import { formatCount, formatSpan } from '../base/figures.ts';
import { formatTime } from './format.ts';
import { errorsOf } from './history-points.ts';
import type { HistoryPoint, Live, LiveApplication } from './live-data.ts';
import { formatCounted, type Sentence } from './sentences.ts';

export interface NewsSources {
  readonly live: Live;
  readonly application: LiveApplication;
  readonly points: readonly HistoryPoint[];
  readonly restartedAtMs: number | undefined;
  readonly nowMs: number;
}

const HOUR_MS = 3_600_000;
/** For the example: the usual address of a server on the same machine. */
const EXAMPLE_UPSTREAM = 'http://127.0.0.1:8080';

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
  if (!isQuiet(application, points)) return live.outside.inMinute === 0 ? [] : [describeOutsideOfMinute(live, nowMs)];
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

function isQuiet({ sessions }: LiveApplication, points: readonly HistoryPoint[]): boolean {
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
