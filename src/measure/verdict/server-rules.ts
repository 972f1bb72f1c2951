/** The rules about the server's capacity: a deadlock, threads, descriptors, hung calls, processors. */
import { formatCount, formatDuration } from '../../base/figures.ts';
import type { HungName } from '../record/hung-calls.ts';
import { hungText, type Rule, type VerdictCode } from './verdict.ts';

const NEARLY_ALL = 0.9;

/** `rpc Plant.Report hangs: 6 calls for 12.0 s to 40.0 s, usually at most 250 ms`. */
function describeHung({ kind, name, count, youngest, oldest, p99 }: HungName): string {
  const ages =
    count === 1
      ? `1 call for ${formatDuration(oldest)}`
      : `${formatCount(count)} calls for ${formatDuration(youngest)} to ${formatDuration(oldest)}`;
  const usual = p99 === null ? 'none was answered yet' : `usually at most ${formatDuration(p99)}`;
  return `${hungText({ kind, name })}: ${ages}, ${usual}`;
}

export const SERVER_RULES = {
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
    const { busyThreads: busy, maxThreads: max } = server?.connector ?? {};
    const isKnown = busy !== undefined && max !== undefined && max > 0;
    return {
      applies: isKnown && busy >= max,
      text: `Applies while all request threads of the connector are busy. Now: ${isKnown ? `${formatCount(busy)} of ${formatCount(max)}` : 'not known'}.`,
      subject: 'server',
      says: `The server: all its ${formatCount(max ?? 0)} request threads are busy, so that further calls wait.`,
    };
  },

  descriptors: ({ server }) => {
    const { openDescriptors: open, maxDescriptors: max } = server?.process ?? {};
    const isKnown = open !== undefined && max !== undefined && max > 0;
    const figures = isKnown ? `${formatCount(open)} of ${formatCount(max)}` : 'not known';
    return {
      applies: isKnown && open >= NEARLY_ALL * max,
      text: `Applies when the server has ${100 * NEARLY_ALL} % of its descriptors (files and connections) open. Now: ${figures}.`,
      subject: 'server',
      says: `The server: it has ${figures} descriptors open, and fails when none are left.`,
    };
  },

  'hung-calls': ({ hung }) => ({
    applies: hung !== null,
    text: `Applies when all running calls of one name have run for ten times its p99 and at least 5 s (a single one without a p99: 30 s). Now: ${hung === null ? 'none' : describeHung(hung)}.`,
    subject: 'server',
    says: hung === null ? '' : `The server: ${describeHung(hung)}.`,
    suspect: hung ?? undefined,
  }),

  processors: ({ server }) => {
    const { cores } = server ?? {};
    const { processors } = server?.process ?? {};
    const isKnown = cores !== undefined && processors !== undefined && processors > 0;
    const figures = isKnown ? `${cores.toFixed(2)} of ${processors}` : 'not known';
    return {
      applies: isKnown && cores >= NEARLY_ALL * processors,
      text: `Applies when the server uses ${100 * NEARLY_ALL} % of its processors. Now: ${figures}.`,
      subject: 'server',
      says: `The server: its JVM uses ${figures} processors, so that calls wait for one.`,
    };
  },
} satisfies Partial<Record<VerdictCode, Rule>>;
