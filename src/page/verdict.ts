/**
 * Is it the server, the network, or a client? Rules in a fixed order, on what the sidecar sees between clients and
 * server. The first that applies is the verdict. The page lists each with its figures, so that readers can check it.
 */
import { formatCount, formatDuration, formatPercent } from '../base/figures.ts';
import { formatTime } from './format.ts';
import { errorShareOf, type Minute, toMinute, usualP95 } from './history-points.ts';
import type { Judged, Rule, Subject } from './judged.ts';
import type { HistoryPoint, Live, LiveApplication, Upstream, WorstCall } from './live-data.ts';
import { judgeDeadlock, judgeDescriptors, judgeHung, judgeProcessors, judgeThreads } from './server-rules.ts';

export interface Verdict {
  readonly subject: Subject;
  /** `The server: 12 % of the calls failed in the last minute.` */
  readonly text: string;
  /** The call to look at first; undefined if the verdict is not about a single call. */
  readonly worst: WorstCall | undefined;
  readonly rules: readonly Rule[];
}

export interface Evidence {
  readonly live: Live;
  readonly application: LiveApplication;
  readonly points: readonly HistoryPoint[];
  readonly nowMs: number;
}

const ERROR_SHARE = 0.05;
const ABORTED_SHARE = 0.1;
const PAUSED_SHARE = 0.1;
/** A share of fewer faults than this means nothing. */
const MIN_FAULTS = 3;
const SLOWER_BY = 2;
/** In seconds. Below this nobody notices twice the duration. */
const MIN_P95_S = 0.05;
/** Five minutes of steps: the minimum for a usual p95. */
const MIN_STEPS = 60;

/** Reasons that point to the network. With all others, except `OWN_REASONS`, the server's host has answered. */
const NETWORK_REASONS: ReadonlySet<string> = new Set([
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENETDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EAI_NODATA',
  'D2S_ERR_UPSTREAM_CONNECT_TIMEOUT',
]);
/** Resources that this machine or process has exhausted. */
const OWN_REASONS: ReadonlySet<string> = new Set([
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
  'ENOMEM',
  'EADDRNOTAVAIL',
  'EAI_MEMORY',
]);

export function toVerdict(evidence: Evidence): Verdict {
  const { application, points } = evidence;
  const { server } = evidence.live;
  const minute = toMinute(points, application.history.stepSeconds);
  const judged = [
    judgeDraining(evidence),
    judgeUpstream(evidence),
    judgeDeadlock(server, evidence.nowMs),
    judgeThreads(server),
    judgeDescriptors(server),
    judgeHung(application),
    judgeErrors(minute),
    judgeProcessors(server),
    judgePauses(minute),
    judgeSlowness(evidence, minute),
    judgeLeaving(minute),
  ];
  const rules = judged.map(({ name, text, applies }) => ({ name, text, applies }));
  const first = judged.find(({ applies }) => applies);
  const worst = application.worstCall ?? undefined;
  if (first !== undefined) {
    return {
      subject: first.subject,
      text: first.verdict,
      worst: first.showsWorstCall === true ? worst : undefined,
      rules,
    };
  }
  if (minute.calls === 0) {
    const text = 'Nothing to judge by: no call was answered in the last minute.';
    return { subject: 'unknown', text, worst, rules };
  }
  const text = `No sign of trouble with the server, the network or a client: ${count(minute.calls, 'call')} in the last minute, ${errorsOf(minute)}, p95 ${formatDuration(minute.rpc.p95)}.`;
  return { subject: 'nobody', text, worst, rules };
}

function judgeDraining({ live }: Evidence): Judged {
  const applies = isLeaving(live);
  return {
    name: 'The sidecar is draining or stopping',
    text: `Applies while the sidecar drains or stops. Now: ${live.state}.`,
    applies,
    subject: 'sidecar',
    verdict: 'The sidecar is draining on request: clients are asked to leave.',
  };
}

export function isLeaving(live: Live): boolean {
  return live.state === 'draining' || live.state === 'stopping' || live.stopLeftSeconds !== null;
}

function judgeUpstream({ live: { upstream }, nowMs }: Evidence): Judged {
  const applies = upstream.state === 'unreachable';
  const subject = toBlocking(upstream);
  const since = upstream.since === null ? '' : ` since ${formatTime(Date.parse(upstream.since), nowMs)}`;
  return {
    name: 'The upstream cannot be reached',
    text: `Applies while no connection to the upstream can be opened. A timeout, no route, or no address for the name points to the network; an answer of its host (refused, reset) to the server; a lack of files or ports on this machine to the sidecar. Now: ${upstream.state}.`,
    applies,
    subject,
    verdict: `${BLOCKED[subject]}${since}${toReason(upstream)}.`,
  };
}

const BLOCKED = {
  network: 'The network: there is no route to the server',
  server: 'The server: it has not accepted connections',
  sidecar: 'The sidecar: its machine has no resources left to open a connection',
} as const;

function toBlocking({ reason }: Upstream): keyof typeof BLOCKED {
  if (OWN_REASONS.has(reason ?? '')) return 'sidecar';
  return NETWORK_REASONS.has(reason ?? '') ? 'network' : 'server';
}

function toReason({ reason }: Upstream): string {
  return reason === null ? '' : ` (${reason})`;
}

function judgeErrors(minute: Minute): Judged {
  const share = errorShareOf(minute);
  const figures = `${formatCount(minute.errors)} of ${formatCount(minute.calls + minute.unanswered)}`;
  return {
    name: 'Calls fail',
    text: `Applies from ${formatPercent(ERROR_SHARE)} of the calls of the last minute, and at least ${MIN_FAULTS}. Now: ${formatPercent(share)} (${figures}).`,
    applies: minute.errors >= MIN_FAULTS && share >= ERROR_SHARE,
    subject: 'server',
    verdict: `The server: ${formatPercent(share)} of the calls failed in the last minute (${figures}).`,
    showsWorstCall: true,
  };
}

function judgePauses({ pausedShare }: Minute): Judged {
  const now = pausedShare === null ? 'not known, no JVM is read' : formatPercent(pausedShare);
  return {
    name: 'The JVM collects garbage',
    text: `Applies when collectors worked for ${formatPercent(PAUSED_SHARE)} of the last minute or more. Now: ${now}.`,
    applies: (pausedShare ?? 0) >= PAUSED_SHARE,
    subject: 'server',
    verdict: `The server: its JVM spent ${now} of the last minute on collecting garbage.`,
  };
}

function judgeSlowness({ application, points }: Evidence, minute: Minute): Judged {
  const stepsOfMinute = Math.round(60 / application.history.stepSeconds);
  const usual = usualP95(points.slice(0, -stepsOfMinute), MIN_STEPS);
  const now = usualP95(points.slice(-stepsOfMinute), 1);
  const isKnown = usual !== null && now !== null;
  const figures = isKnown
    ? `${formatDuration(now)}, usually ${formatDuration(usual)}`
    : 'not enough to compare with (needs 5 minutes with calls)';
  return {
    name: 'Calls are slow',
    text: `Applies when the p95 of the last minute is ${SLOWER_BY} times the usual one of this hour, and over ${formatDuration(MIN_P95_S)}. The time of clients is not included: the clock stops with the last byte from the server. Now: ${figures}.`,
    applies: isKnown && minute.calls > 0 && now >= SLOWER_BY * usual && now >= MIN_P95_S,
    subject: 'server',
    verdict: `The server, or the network between the sidecar and it: calls take longer than usual (p95 ${figures}).`,
  };
}

function judgeLeaving(minute: Minute): Judged {
  const share = minute.aborted / Math.max(minute.calls + minute.aborted, 1);
  return {
    name: 'Clients leave early',
    text: `Applies from ${formatPercent(ABORTED_SHARE)} of calls that the client aborted before the answer had ended, and at least ${MIN_FAULTS}. Now: ${formatPercent(share)} (${formatCount(minute.aborted)}).`,
    applies: minute.aborted >= MIN_FAULTS && share >= ABORTED_SHARE,
    subject: 'client',
    verdict: `A client, or the network between clients and here: ${count(minute.aborted, 'call')} of the last minute ${minute.aborted === 1 ? 'was' : 'were'} aborted by the client before the answer had ended, while the server answers as usual.`,
  };
}

/** `P.Balance.Year.Close: 71 of 143 failed`. */
export function toWorstText({ name, failed, ended }: WorstCall): string {
  return `${name}: ${formatCount(failed)} of ${formatCount(ended)} failed`;
}

function errorsOf({ errors }: Minute): string {
  return errors === 0 ? 'none failed' : `${formatCount(errors)} failed`;
}

function count(value: number, noun: string): string {
  return `${formatCount(value)} ${noun}${value === 1 ? '' : 's'}`;
}
