/** Accounts for every call: what its client sent, how it ended, and whether the upstream recorded the same. */
import { planCall } from '../truth/call-plan.ts';
import type { Seen } from '../truth/ledger.ts';
import { planSocket } from '../truth/socket-plan.ts';
import { Differences } from './differences.ts';
import { ENTRY_KINDS, type Entry, type EntryKind, OUTCOMES, type Outcome } from './entry.ts';
import { leavesConnectionClosing, whatSocketExpected, whatWasExpected } from './expectation.ts';
import { LifeTally } from './life-tally.ts';
import { Windows } from './windows.ts';

export type OutcomeCounts = Record<Outcome, number>;

export interface KindCounts {
  sent: number;
  readonly outcomes: OutcomeCounts;
  /** Of these, recorded by the upstream. */
  seen: number;
}

const CLOSING = 'the connection before was closing';

export class Book {
  readonly counts = Object.fromEntries(
    ENTRY_KINDS.map((kind) => [kind, { sent: 0, outcomes: noOutcomes(), seen: 0 }]),
  ) as Record<EntryKind, KindCounts>;
  /** Unplanned endings, by the fault in progress. */
  readonly excused = new Map<string, number>();
  readonly messages = { sent: 0, seen: 0, echoed: 0, lost: 0 };
  readonly differences = new Differences();
  readonly windows = new Windows();
  readonly #seed: number;
  readonly #open = new Set<string>();
  readonly #settled = new Set<string>();
  readonly #lives = new Map<number, LifeTally>();
  #entries: Entry[] = [];

  constructor(seed: number) {
    this.#seed = seed;
  }

  lifeTally(life: number): LifeTally {
    const tally = this.#lives.get(life) ?? new LifeTally();
    this.#lives.set(life, tally);
    return tally;
  }

  connected(life: number): void {
    this.lifeTally(life).connected += 1;
  }

  stray(id: string, bytes: number): void {
    this.differences.add('wrong bytes', `${bytes} bytes behind the end of ${id}`);
  }

  sent(id: string): void {
    if (this.#open.has(id)) this.differences.add('accounts', `${id} was begun twice`);
    this.#open.add(id);
    this.counts[/^[st]/.test(id) ? 'socket' : planCall(this.#seed, id).kind].sent += 1;
  }

  over(entry: Entry): void {
    if (!this.#open.delete(entry.id))
      this.differences.add('accounts', `${entry.id} ended twice, or without a beginning`);
    this.counts[entry.kind].outcomes[entry.outcome] += 1;
    this.#entries.push(entry);
  }

  total(outcome: Outcome): number {
    return Object.values(this.counts).reduce((sum, { outcomes }) => sum + outcomes[outcome], 0);
  }

  /** Compares all ended calls with the upstream's record. No call may be in progress. */
  settle(seen: Map<string, Seen>): void {
    for (const id of this.#open) this.differences.add('without an end', id);
    for (const entry of this.#entries) {
      this.#settleEntry(entry, seen.get(entry.id));
      seen.delete(entry.id);
      this.#settled.add(entry.id);
    }
    this.#entries = [];
    for (const [id, { wrong }] of seen) {
      const whose = this.#settled.has(id) ? 'received again after its end' : 'never sent';
      this.differences.add('unknown calls', `${id}: ${[whose, ...wrong].join('; ')}`);
    }
    seen.clear();
  }

  #settleEntry(entry: Entry, seen: Seen | undefined): void {
    const { id, kind, outcome, life } = entry;
    const differences = this.differences;
    const heads = seen?.heads ?? 0;
    if (seen !== undefined) this.counts[kind].seen += 1;
    if (entry.wrong !== undefined) differences.add('wrong bytes', `${id}, at its client: ${entry.wrong}`);
    for (const wrong of seen?.wrong ?? []) differences.add('wrong bytes', `${id}, at the upstream: ${wrong}`);
    if (heads > 1) differences.add('doubled calls', `${id} came ${heads} times to the upstream`);
    if (outcome === 'hung') differences.add('hung', `${id}: ${entry.reason}`);
    if (outcome === 'answered' && heads === 0) differences.add('lost calls', `${id} was answered and never came`);
    if (!entry.isHeadSent && seen !== undefined) differences.add('unknown calls', `${id}: received but never sent`);
    if (this.#isUnread(entry, seen)) {
      count(this.excused, CLOSING);
      return;
    }
    if (kind === 'socket') this.#settleSocket(entry, seen);
    else this.#settleCall(entry, seen);
    if (entry.wasCut) this.#cut(entry);
    if (life === undefined) return;
    const tally = this.lifeTally(life);
    if (kind === 'socket') tally.noteSocket(entry, planSocket(this.#seed, id), seen);
    else tally.noteCall(entry, planCall(this.#seed, id), seen);
  }

  #settleCall(entry: Entry, seen: Seen | undefined): void {
    const { id, outcome, reason } = entry;
    const plan = planCall(this.#seed, id);
    const isEarly = plan.fault === 'early' || plan.fault === 'early-close';
    const complete = seen?.complete ?? 0;
    if (complete > 1) this.differences.add('doubled calls', `the body of ${id} came ${complete} times`);
    if (outcome === 'answered' && !isEarly && complete === 0)
      this.differences.add('lost calls', `${id} was answered before its body had come`);
    const isCutShort = outcome === 'aborted' && (reason === 'head' || reason === 'body');
    if (isCutShort && complete > 0) this.differences.add('completed requests', `${id} was cut short and came whole`);
    this.#expect(entry, whatWasExpected(entry, plan), this.#isAfterClosing(entry));
  }

  #settleSocket(entry: Entry, seen: Seen | undefined): void {
    const { id, outcome, sentMessages: sent, echoes, status } = entry;
    const plan = planSocket(this.#seed, id);
    const came = seen?.messages ?? 0;
    this.messages.sent += sent;
    this.messages.seen += came;
    this.messages.echoed += echoes;
    this.messages.lost += sent - echoes;
    const isWhole = outcome === 'answered' && status === 101;
    if (echoes > came || came > sent || (isWhole && echoes !== sent))
      this.differences.add('messages', `${id}: ${sent} sent, ${came} came, ${echoes} echoes`);
    this.#expect(entry, whatSocketExpected(entry, plan), false);
  }

  /** A reset must be passed on as a reset: otherwise a partial answer looks complete. A killed upstream may close in order. */
  #cut({ id, kind, beganMs, endedMs }: Entry): void {
    const { fault = 'no fault', halfCloses } = planCall(this.#seed, id);
    // A client that has closed its own side cannot distinguish the two (connection.ts).
    if (halfCloses || this.windows.over(beganMs, endedMs) !== undefined) return;
    this.differences.add('cut answers', `${id} (${kind}, ${fault}) ended in order, with bytes missing`);
  }

  /** `expected`: undefined for an ending as planned. */
  #expect(entry: Entry, expected: string | undefined, isAfterClosing: boolean): void {
    if (expected === undefined) return;
    const { id, kind, life, before = 'nothing', outcome, reason, status, beganMs, endedMs } = entry;
    const excuse = this.windows.over(beganMs, endedMs) ?? (isAfterClosing ? CLOSING : undefined);
    if (excuse !== undefined) {
      count(this.excused, excuse);
      return;
    }
    const lasted = `${Math.round(beganMs)} to ${Math.round(endedMs)} ms`;
    const what = `${id} (${kind}, life ${life}, after ${before}, ${lasted})`;
    this.differences.add('unplanned endings', `${what}: ${outcome} ${reason} ${status}, expected ${expected}`);
  }

  /** An upstream that answers early and then closes neither reads nor counts what the client sends at that moment. */
  #isUnread({ kind, outcome, status, hasAnswerBegun, before }: Entry, seen: Seen | undefined): boolean {
    if (kind === 'socket' || outcome !== 'failed' || status !== 0 || hasAnswerBegun) return false;
    return seen === undefined && before !== undefined && planCall(this.#seed, before).fault === 'early-close';
  }

  #isAfterClosing({ outcome, reason, before }: Entry): boolean {
    // An answer to HEAD has no body for the code.
    const isTerminated = reason === 'D2S_ERR_UPSTREAM_TERMINATED' || reason === 'status 502';
    if (before === undefined || outcome !== 'problem' || !isTerminated) return false;
    return leavesConnectionClosing(planCall(this.#seed, before));
  }
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function noOutcomes(): OutcomeCounts {
  return Object.fromEntries(OUTCOMES.map((outcome) => [outcome, 0])) as OutcomeCounts;
}
