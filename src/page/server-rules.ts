/** The rules of the verdict about the server's capacity: a deadlock, threads, descriptors, hung calls, processors. */
import { formatCount, formatDuration, formatPercent } from '../base/figures.ts';
import { formatTime } from './format.ts';
import type { Judged } from './judged.ts';
import type { HungCalls, LiveApplication, ServerCapacity } from './live-data.ts';

const NEARLY_ALL = 0.9;

export function judgeDeadlock({ deadlock }: ServerCapacity, nowMs: number): Judged {
  const found =
    deadlock === undefined
      ? 'none in the last thread dump, or no dump was taken'
      : `${formatCount(deadlock.threads)} threads, in ${deadlock.file} of ${formatTime(Date.parse(deadlock.at), nowMs)}`;
  return {
    name: 'Threads of the server block each other',
    text: `Applies when the last thread dump (diagnosis.threads) has a deadlock. Now: ${found}.`,
    applies: deadlock !== undefined,
    subject: 'server',
    verdict: `The server: a deadlock, which only a restart ends (${found}).`,
  };
}

export function judgeThreads({ 'threads.busy': busy, 'threads.max': max }: ServerCapacity): Judged {
  const isKnown = busy !== undefined && max !== undefined && max > 0;
  return {
    name: 'No request thread is left',
    text: `Applies while all request threads of the connector are busy. Now: ${isKnown ? `${formatCount(busy)} of ${formatCount(max)}` : 'not known'}.`,
    applies: isKnown && busy >= max,
    subject: 'server',
    verdict: `The server: all its ${formatCount(max ?? 0)} request threads are busy, so that further calls wait.`,
  };
}

export function judgeDescriptors(server: ServerCapacity): Judged {
  const { 'process.descriptors.open': open, 'process.descriptors.max': max } = server;
  const isKnown = open !== undefined && max !== undefined && max > 0;
  const figures = isKnown ? `${formatCount(open)} of ${formatCount(max)}` : 'not known';
  return {
    name: 'The server runs out of descriptors',
    text: `Applies from ${formatPercent(NEARLY_ALL)} of the files and connections that it may have open. Now: ${figures}.`,
    applies: isKnown && open >= NEARLY_ALL * max,
    subject: 'server',
    verdict: `The server: it has ${figures} descriptors open, and fails when none are left.`,
  };
}

export function judgeHung({ running: { hung } }: LiveApplication): Judged {
  return {
    name: 'Calls hang',
    text: `Applies when all running calls of one name have run for ten times its p99 and at least 5 s (a single one without a p99: 30 s). Now: ${hung === null ? 'none' : toHungText(hung)}.`,
    applies: hung !== null,
    subject: 'server',
    verdict: hung === null ? '' : `The server: ${toHungText(hung)}.`,
  };
}

/** `rpc Plant.Report hangs: 6 calls for 12.0 s to 40.0 s, usually at most 250 ms`. */
function toHungText({ kind, name, count, youngest, oldest, p99 }: HungCalls): string {
  const ages =
    count === 1
      ? `1 call for ${formatDuration(oldest)}`
      : `${formatCount(count)} calls for ${formatDuration(youngest)} to ${formatDuration(oldest)}`;
  const usual = p99 === null ? 'none was answered yet' : `usually at most ${formatDuration(p99)}`;
  return `${kind} ${name} hangs: ${ages}, ${usual}`;
}

export function judgeProcessors({ 'process.cpu': cores, processors }: ServerCapacity): Judged {
  const isKnown = cores !== undefined && processors !== undefined && processors > 0;
  const figures = isKnown ? `${cores.toFixed(2)} of ${processors}` : 'not known';
  return {
    name: 'The server is out of processor time',
    text: `Applies from ${formatPercent(NEARLY_ALL)} of the processors that it may use. Now: ${figures}.`,
    applies: isKnown && cores >= NEARLY_ALL * processors,
    subject: 'server',
    verdict: `The server: its JVM uses ${figures} processors, so that calls wait for one.`,
  };
}
