/**
 * Is it the server, the network, a client, or the sidecar? Each rule says its condition with the current figure, so that
 * readers can check it. docs/live-page.md lists them.
 */
import { formatCount, formatDuration, formatPercent, formatShare } from '../../base/figures.ts';
import { describeTlsFault } from '../../tls/tls-fault.ts';
import type { UpstreamCondition } from '../history/marks.ts';
import type { TargetReading } from '../record/call-targets.ts';
import type { HungName } from '../record/running-calls.ts';
import { hungText, type MinuteCounts, type Rule } from './evidence.ts';

const MIN_FAULTS = 3;
const ERROR_SHARE = 0.05;
const LATE_SHARE = 0.05;
const ABORTED_SHARE = 0.1;
const COLLECTOR_SHARE = 0.1;
const SLOWER_BY = 2;
/** Below this nobody notices twice the duration. */
const MIN_P95_S = 0.05;
const MIN_PASSED = 20;
const NEARLY_ALL = 0.9;

/** Reasons that point to the network. With all others, except `OWN_REASONS`, the server's host has answered. */
const NETWORK_REASONS: ReadonlySet<string> = new Set([
  ...['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN', 'D2S_ERR_UPSTREAM_CONNECT_TIMEOUT'],
  ...['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA'],
]);
/** Resources that this machine or process has exhausted. */
const OWN_REASONS: ReadonlySet<string> = new Set([
  ...['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'EAI_MEMORY'],
]);

const UNREACHABLE = {
  network: 'The network: there is no route to the server, or it does not answer',
  server: 'The server: it does not accept connections',
  sidecar: 'The sidecar: its machine has no resources left to open a connection',
} as const;

function tlsReason(upstream: UpstreamCondition): string | undefined {
  return upstream.kind === 'unreachable' && upstream.isTls === true ? upstream.reason : undefined;
}

function blamed(reason: string): keyof typeof UNREACHABLE {
  if (OWN_REASONS.has(reason)) return 'sidecar';
  return NETWORK_REASONS.has(reason) ? 'network' : 'server';
}

/** `rpc Plant.Report hangs: 6 calls for 12.0 s to 40.0 s, usually at most 250 ms`. */
function describeHung({ kind, name, count, youngest, oldest, p99 }: HungName): string {
  const [least, most] = [formatDuration(youngest), formatDuration(oldest)];
  const calls = count === 1 ? '1 call' : `${formatCount(count)} calls`;
  const ages = `${calls} for ${least === most ? most : `${least} to ${most}`}`;
  const usual = p99 === null ? 'none was answered yet' : `usually at most ${formatDuration(p99)}`;
  return `${hungText({ kind, name })}: ${ages}, ${usual}`;
}

/** How much of a maximum is used, e.g. `9 of 10`. */
function compare(used: number | undefined, max: number | undefined, format = formatCount) {
  if (used === undefined || max === undefined || !(max > 0))
    return { isFull: false, isNearlyFull: false, text: 'not known' };
  const text = `${format(used)} of ${formatCount(max)}`;
  return { isFull: used >= max, isNearlyFull: used >= NEARLY_ALL * max, text };
}

function metShareOf({ met, missed }: TargetReading): number {
  return met / Math.max(met + missed, 1);
}

/** `E.Boiler.*: 95 % of the last minute's calls took at most 500 ms, 99 % should (19 of 20)`. */
function describeTarget(target: TargetReading): string {
  const { name, withinMs, share, met, missed } = target;
  const figures = `${formatCount(met)} of ${formatCount(met + missed)}`;
  return `${name}: ${formatShare(metShareOf(target))} of its calls were answered within ${formatDuration(withinMs / 1_000)}, and ${formatShare(share)} should be (${figures})`;
}

/** Calls that ended for the client: answered, or without an answer. Those that the client aborted are not included. */
export function endedCalls({ ok, clientErrors, errors, unanswered }: MinuteCounts): number {
  return ok + clientErrors + errors + unanswered;
}

/** In the order in which they are judged: the first that applies is the verdict. */
export const RULES = {
  draining: ({ isLeaving, lifecycleState }) => ({
    applies: isLeaving,
    text: `Applies while the sidecar drains or stops. Now: ${lifecycleState}.`,
    subject: 'sidecar',
    says: 'The sidecar is draining on request: clients are asked to leave.',
  }),

  'own-certificate': ({ ownCertificateFault: fault }) => ({
    applies: fault !== undefined,
    text: `Applies when clients cannot trust the sidecar's certificate (listen.tls). Now: ${fault ?? 'no fault, or no TLS'}.`,
    subject: 'sidecar',
    says: `The sidecar: clients cannot trust its certificate (listen.tls): ${fault}.`,
  }),

  'upstream-tls': ({ upstream }) => {
    const reason = tlsReason(upstream);
    const { kind, text, see } = describeTlsFault(reason ?? '');
    const isServer = kind === 'expired';
    return {
      applies: reason !== undefined,
      text: `Applies when connections to the server open, but TLS with it fails. An expired certificate is the server's fault; everything else is the sidecar's configuration until shown otherwise. Now: ${reason === undefined ? 'no such failure' : `${text} (${reason})`}.`,
      subject: isServer ? 'server' : 'sidecar',
      says: isServer
        ? `The server: TLS with it fails: ${text} (${reason}).`
        : `The sidecar's configuration, or the server's: TLS with the server fails: ${text} (${reason}; see ${see}).`,
    };
  },

  'upstream-unreachable': ({ upstream }) => {
    const reason = upstream.kind === 'unreachable' ? upstream.reason : undefined;
    const subject = blamed(reason ?? '');
    return {
      applies: reason !== undefined && tlsReason(upstream) === undefined,
      text: `Applies while no connection to the server can be opened. A timeout, no route, or no address for the name points to the network; an answer of its host (refused, reset) to the server; a lack of files or ports on this machine to the sidecar. Now: ${upstream.kind}${reason === undefined ? '' : ` (${reason})`}.`,
      subject,
      says: `${UNREACHABLE[subject]} (${reason}).`,
    };
  },

  deadlock: ({ deadlock }) => {
    const found =
      deadlock === undefined
        ? 'none in the last thread dump, or no dump was taken'
        : `${formatCount(deadlock.threads)} threads, in ${deadlock.file}`;
    return {
      applies: deadlock !== undefined,
      text: `Applies when the last thread dump (diagnosis.threads) has a deadlock. Now: ${found}.`,
      subject: 'server',
      says: `The server: a deadlock, which only a restart ends (${found}).`,
    };
  },

  'no-threads': ({ server }) => {
    const { busyThreads, maxThreads = 0 } = server?.connector ?? {};
    const busy = compare(busyThreads, maxThreads);
    return {
      applies: busy.isFull,
      text: `Applies while all request threads of the connector are busy. Now: ${busy.text}.`,
      subject: 'server',
      says: `The server: all its ${formatCount(maxThreads)} request threads are busy, so that further calls wait.`,
    };
  },

  descriptors: ({ server }) => {
    const open = compare(server?.process.openDescriptors, server?.process.maxDescriptors);
    return {
      applies: open.isNearlyFull,
      text: `Applies when the server has ${100 * NEARLY_ALL} % of its descriptors (files and connections) open. Now: ${open.text}.`,
      subject: 'server',
      says: `The server: it has ${open.text} descriptors open, and fails when none are left.`,
    };
  },

  'hung-calls': ({ hung }) => ({
    applies: hung !== null,
    text: `Applies when all running calls of one name have run for ten times its p99 and at least 5 s (a single one without a p99: 30 s). Now: ${hung === null ? 'none' : describeHung(hung)}.`,
    subject: 'server',
    says: hung === null ? '' : `The server: ${describeHung(hung)}.`,
    suspect: hung ?? undefined,
  }),

  'calls-fail': ({ minute, worst }) => {
    const ended = endedCalls(minute);
    const failed = minute.errors + minute.unanswered;
    const share = failed / Math.max(ended, 1);
    const figures = `${formatCount(failed)} of ${formatCount(ended)}`;
    const isOwn = 2 * minute.refusedHere > failed;
    return {
      applies: failed >= MIN_FAULTS && share >= ERROR_SHARE,
      text: `Applies when ${100 * ERROR_SHARE} % of the calls of the last minute failed, and at least ${MIN_FAULTS}. Now: ${formatPercent(share)} (${figures}).`,
      subject: isOwn ? 'sidecar' : 'server',
      says: isOwn
        ? `The sidecar: it refused ${formatCount(minute.refusedHere)} calls of the last minute, since limits.inFlight was reached or its machine had no resources left; ${formatPercent(share)} of the calls failed (${figures}).`
        : `The server: ${formatPercent(share)} of the calls failed in the last minute (${figures})${worst === undefined ? '' : `, most often ${worst.name} (${formatCount(worst.failed)} of its ${formatCount(worst.ended)})`}.`,
      suspect: isOwn ? undefined : worst,
    };
  },

  'calls-late': ({ minute, slowest, clientTimeoutS }) => {
    const calls = endedCalls(minute) + minute.aborted;
    const share = minute.late / Math.max(calls, 1);
    const figures = `${formatCount(minute.late)} of ${formatCount(calls)}`;
    const limit = clientTimeoutS === 0 ? 'off' : formatDuration(clientTimeoutS);
    return {
      applies: clientTimeoutS > 0 && minute.late >= MIN_FAULTS && share >= LATE_SHARE,
      text: `Applies when ${100 * LATE_SHARE} % of the calls of the last minute, and at least ${MIN_FAULTS}, took longer than clients wait (calls.clientTimeout, ${limit}). Now: ${formatPercent(share)} (${figures}).`,
      subject: 'server',
      says: `The server: ${formatPercent(share)} of the calls of the last minute took longer than ${limit}, after which clients give up (${figures})${slowest === undefined ? '' : `; the slowest was ${slowest.name}`}.`,
      suspect: slowest,
    };
  },

  'target-missed': ({ targets }) => {
    const missed = targets
      .filter((target) => target.met + target.missed >= MIN_FAULTS && metShareOf(target) < target.share)
      .sort((one, other) => metShareOf(one) - one.share - (metShareOf(other) - other.share));
    const [worst] = missed;
    const now = targets.length === 0 ? 'no targets' : worst === undefined ? 'none' : describeTarget(worst);
    return {
      applies: worst !== undefined,
      text: `Applies when, of at least ${MIN_FAULTS} calls of the last minute with a target (calls.targets), fewer than its share met it. Now: ${now}.`,
      subject: 'server',
      says: `The server: a target is missed: ${now}${missed.length > 1 ? `, and ${formatCount(missed.length - 1)} more` : ''}.`,
      suspect: worst?.name.endsWith('*') === false ? { kind: worst.kind, name: worst.name } : undefined,
    };
  },

  processors: ({ server }) => {
    const used = compare(server?.cores, server?.process.processors, (cores) => cores.toFixed(2));
    return {
      applies: used.isNearlyFull,
      text: `Applies when the server uses ${100 * NEARLY_ALL} % of its processors. Now: ${used.text}.`,
      subject: 'server',
      says: `The server: its JVM uses ${used.text} processors, so that calls wait for one.`,
    };
  },

  'garbage-collection': ({ collectorShare }) => {
    const now = collectorShare === null ? 'not known, no JVM is read' : formatPercent(collectorShare);
    return {
      applies: (collectorShare ?? 0) >= COLLECTOR_SHARE,
      text: `Applies when collectors worked for ${100 * COLLECTOR_SHARE} % of the last minute or more. Now: ${now}.`,
      subject: 'server',
      says: `The server: its JVM spent ${now} of the last minute on collecting garbage.`,
    };
  },

  'calls-slow': ({ minute, p95: { now, usual }, slowest }) => {
    const isKnown = now !== null && usual !== null;
    const figures = isKnown
      ? `${formatDuration(now)}, usually ${formatDuration(usual)}`
      : 'not enough to compare with (needs 5 minutes with calls)';
    return {
      applies: isKnown && endedCalls(minute) > 0 && now >= SLOWER_BY * usual && now >= MIN_P95_S,
      text: `Applies when the p95 of RPCs in the last minute is at least ${SLOWER_BY} times the usual one of this hour, and at least ${1_000 * MIN_P95_S} ms. The time that clients take is not included. Now: ${figures}.`,
      subject: 'server',
      says: `The server, or the network between the sidecar and it: calls take longer than usual (p95 ${figures}).`,
      suspect: slowest,
    };
  },

  'clients-slow': ({ minute: { clientWaitS, durationS, longWaits } }) => ({
    applies: longWaits >= MIN_FAULTS && clientWaitS >= durationS,
    text: `Applies when calls waited for their clients at least as long as for the server, and at least ${MIN_FAULTS} waited over a second. Now: ${formatDuration(clientWaitS)} for clients, ${formatDuration(durationS)} for the server; ${formatCount(longWaits)} over a second.`,
    subject: 'client',
    says: `Clients, or the network between them and here: calls of the last minute waited ${formatDuration(clientWaitS)} for their clients to send or to read, and ${formatDuration(durationS)} for the server.`,
  }),

  'clients-leave': ({ minute }) => {
    const { aborted } = minute;
    const share = aborted / Math.max(endedCalls(minute) + aborted, 1);
    return {
      applies: aborted >= MIN_FAULTS && share >= ABORTED_SHARE,
      text: `Applies when clients left ${100 * ABORTED_SHARE} % of the calls before they had the whole answer, and at least ${MIN_FAULTS}. Now: ${formatPercent(share)} (${formatCount(aborted)}).`,
      subject: 'client',
      says: `Clients, or the network between them and here: ${formatCount(aborted)} calls of the last minute were aborted by their client before it had the whole answer.`,
    };
  },

  'not-classified': (evidence) => {
    const { application, minute } = evidence;
    const calls = endedCalls(minute) + minute.aborted;
    const context = application === '' ? '/' : `/${application}`;
    const isMisplaced = minute.misplaced >= MIN_PASSED;
    const applies = calls === 0 && (isMisplaced || minute.unclassified >= MIN_PASSED);
    // Finding a path costs something, so only a finding asks for it.
    const path = !applies ? undefined : isMisplaced ? evidence.misplacedPath : evidence.unclassifiedPath;
    const passed = formatCount(isMisplaced ? minute.misplaced : minute.unclassified);
    const says = isMisplaced
      ? `The sidecar's configuration: ${passed} requests of the last minute${path === undefined ? '' : ` for ${path}`} would be calls, but the configured application is ${context}. Mend upstream.url or applications; letter case counts.`
      : `The sidecar's configuration: ${passed} requests of the last minute below ${context}${path === undefined ? '' : `, such as ${path},`} are no calls by its rules, and nothing else came. Add rest.rules if they should be.`;
    return {
      applies,
      text: `Applies when no call was classified in the last minute, while ${MIN_PASSED} requests passed that would be calls under another first segment, or that are below the application. Now: ${formatCount(calls)} calls; ${formatCount(minute.misplaced)} requests under another first segment, ${formatCount(minute.unclassified)} below the application.`,
      subject: 'sidecar',
      says,
    };
  },

  quiet: ({ minute }) => ({
    applies: endedCalls(minute) + minute.aborted === 0,
    text: `Applies when no call ended in the last minute. Now: ${formatCount(endedCalls(minute) + minute.aborted)} calls.`,
    subject: 'unknown',
    says: 'Nothing to judge by: no call ended in the last minute.',
  }),

  fine: ({ minute, p95 }) => {
    const ended = endedCalls(minute) + minute.aborted;
    const failed = minute.errors + minute.unanswered;
    const p95Text = p95.now === null ? '' : `, p95 of RPCs ${formatDuration(p95.now)}`;
    return {
      applies: true,
      text: 'Applies when no other rule does.',
      subject: 'nobody',
      says: `No sign of trouble with the server, the network or a client: ${formatCount(ended)} ${ended === 1 ? 'call' : 'calls'} in the last minute, ${failed === 0 ? 'none' : formatCount(failed)} failed${p95Text}.`,
    };
  },
} satisfies Readonly<Record<string, Rule>>;

export type VerdictCode = keyof typeof RULES;

export const VERDICT_CODES = Object.keys(RULES) as VerdictCode[];
