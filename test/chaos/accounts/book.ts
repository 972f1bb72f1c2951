/** Accounts for every call: what its client sent, how it ended, and whether the upstream recorded the same. */
import { planCall } from '../truth/call-plan.ts';
import type { Seen } from '../truth/ledger.ts';
import { planSocket } from '../truth/socket-plan.ts';
import { type Entry, leavesConnectionClosing, type Outcome, outcomesOf, socketOutcomesOf } from './entry.ts';
import { LifeTally } from './life-tally.ts';

const CLOSING = 'the connection before was closing';
/** Open connections may notice a fault late: a backlog is worked off, a kept connection is found closed. */
const AFTERMATH_MS = 1_000;
/** One process gives the order, another one carries it out. */
const BEFORE_MS = 50;

export class Book {
  /** By kind of call: how many were sent, how they ended, and how many the upstream saw. */
  readonly counts: Record<string, Record<string, number>> = {};
  /** Unplanned endings, by the fault in progress. */
  readonly excused: Record<string, number> = {};
  readonly messages = { sent: 0, seen: 0, echoed: 0 };
  /** What must not be, by its sort. */
  readonly differences = new Map<string, string[]>();
  /** The current start of the sidecar. */
  life = 0;
  readonly #seed: number;
  readonly #open = new Set<string>();
  readonly #settled = new Set<string>();
  readonly #lives = new Map<number, LifeTally>();
  #windows: { readonly what: string; readonly fromMs: number; toMs: number }[] = [];
  #entries: Entry[] = [];

  constructor(seed: number) {
    this.#seed = seed;
  }

  differ(sort: string, what: string): void {
    const all = this.differences.get(sort) ?? [];
    this.differences.set(sort, all);
    all.push(what);
  }

  /** From now until the result is called, unplanned endings are excused: the upstream or the sidecar is down, or restarting. */
  openWindow(what: string): () => void {
    const window = { what, fromMs: performance.now() - BEFORE_MS, toMs: Number.POSITIVE_INFINITY };
    this.#windows.push(window);
    return () => {
      window.toMs = performance.now() + AFTERMATH_MS;
    };
  }

  lifeTally(life: number): LifeTally {
    const tally = this.#lives.get(life) ?? new LifeTally();
    this.#lives.set(life, tally);
    return tally;
  }

  sent(id: string): void {
    if (this.#open.has(id)) this.differ('accounts', `${id} was begun twice`);
    this.#open.add(id);
    this.#count(id.startsWith('s') ? 'socket' : planCall(this.#seed, id).kind, 'sent');
  }

  over(entry: Entry): void {
    if (!this.#open.delete(entry.id)) this.differ('accounts', `${entry.id} ended twice, or without a beginning`);
    this.#count(entry.kind, entry.outcome);
    this.#entries.push(entry);
  }

  /** Compares all ended calls with the upstream's record. No call may be in progress. */
  settle(seen: Map<string, Seen>): void {
    for (const id of this.#open) this.differ('without an end', id);
    for (const entry of this.#entries) {
      this.#settleEntry(entry, seen.get(entry.id));
      seen.delete(entry.id);
      this.#settled.add(entry.id);
    }
    this.#entries = [];
    for (const [id, { wrong }] of seen) {
      const whose = this.#settled.has(id) ? 'received again after its end' : 'never sent';
      this.differ('unknown calls', `${id}: ${[whose, ...wrong].join('; ')}`);
    }
    seen.clear();
    this.#windows = this.#windows.filter(({ toMs }) => toMs >= performance.now());
  }

  #settleEntry(entry: Entry, seen: Seen | undefined): void {
    const { id, kind, outcome, life } = entry;
    const heads = seen?.heads ?? 0;
    if (seen !== undefined) this.#count(kind, 'seen');
    if (entry.wrong !== undefined) this.differ('wrong bytes', `${id}, at its client: ${entry.wrong}`);
    for (const wrong of seen?.wrong ?? []) this.differ('wrong bytes', `${id}, at the upstream: ${wrong}`);
    if (heads > 1) this.differ('doubled calls', `${id} came ${heads} times to the upstream`);
    if (outcome === 'hung') this.differ('hung', `${id}: ${entry.reason}`);
    if (outcome === 'answered' && heads === 0) this.differ('lost calls', `${id} was answered and never came`);
    if (!entry.isHeadSent && seen !== undefined) this.differ('unknown calls', `${id}: received but never sent`);
    if (this.#isUnread(entry, seen)) {
      this.#excuse(CLOSING);
      return;
    }
    if (kind === 'socket') this.#settleSocket(entry, seen);
    else this.#settleCall(entry, seen);
    if (entry.wasCut) this.#cut(entry);
    if (life === undefined) return;
    if (kind === 'socket') this.lifeTally(life).noteSocket(entry, planSocket(this.#seed, id), seen);
    else this.lifeTally(life).noteCall(entry, planCall(this.#seed, id), seen);
  }

  #settleCall(entry: Entry, seen: Seen | undefined): void {
    const { id, outcome, reason } = entry;
    const plan = planCall(this.#seed, id);
    const isEarly = plan.fault === 'early' || plan.fault === 'early-close';
    const complete = seen?.complete ?? 0;
    if (complete > 1) this.differ('doubled calls', `the body of ${id} came ${complete} times`);
    if (outcome === 'answered' && !isEarly && complete === 0)
      this.differ('lost calls', `${id} was answered before its body had come`);
    const isCutShort = outcome === 'aborted' && (reason === 'head' || reason === 'body');
    if (isCutShort && complete > 0) this.differ('completed requests', `${id} was cut short and came whole`);
    this.#expect(entry, plan.leave !== undefined, outcomesOf(entry, plan));
  }

  #settleSocket(entry: Entry, seen: Seen | undefined): void {
    const { id, outcome, sentMessages: sent, echoes, status } = entry;
    const plan = planSocket(this.#seed, id);
    const came = seen?.messages ?? 0;
    this.messages.sent += sent;
    this.messages.seen += came;
    this.messages.echoed += echoes;
    const isWhole = outcome === 'answered' && status === 101;
    if (echoes > came || came > sent || (isWhole && echoes !== sent))
      this.differ('messages', `${id}: ${sent} sent, ${came} came, ${echoes} echoes`);
    this.#expect(entry, plan.leaveAfter !== undefined, socketOutcomesOf(plan));
  }

  /** A reset must be passed on as a reset: otherwise a partial answer looks complete. A killed upstream may close in order. */
  #cut(entry: Entry): void {
    const { fault = 'no fault', halfCloses } = planCall(this.#seed, entry.id);
    // A client that has closed its own side cannot distinguish the two (connection.ts).
    if (halfCloses || this.#windowOf(entry) !== undefined) return;
    this.differ('cut answers', `${entry.id} (${entry.kind}, ${fault}) ended in order, with bytes missing`);
  }

  #expect(entry: Entry, mayLeave: boolean, expected: readonly Outcome[]): void {
    const { id, kind, life, before = 'nothing', outcome, reason, status, beganMs, endedMs } = entry;
    if ((outcome === 'aborted' && mayLeave) || expected.includes(outcome)) return;
    const excuse = this.#windowOf(entry) ?? (this.#isAfterClosing(entry) ? CLOSING : undefined);
    if (excuse !== undefined) {
      this.#excuse(excuse);
      return;
    }
    const what = `${id} (${kind}, life ${life}, after ${before}, ${Math.round(beganMs)} to ${Math.round(endedMs)} ms)`;
    this.differ('unplanned endings', `${what}: ${outcome} ${reason} ${status}, expected ${expected.join(' or ')}`);
  }

  #windowOf({ beganMs, endedMs }: Entry): string | undefined {
    return this.#windows.find(({ fromMs, toMs }) => beganMs <= toMs && endedMs >= fromMs)?.what;
  }

  /** An upstream that answers early and then closes neither reads nor counts what the client sends at that moment. */
  #isUnread({ kind, outcome, status, hasAnswerBegun, before }: Entry, seen: Seen | undefined): boolean {
    if (kind === 'socket' || outcome !== 'failed' || status !== 0 || hasAnswerBegun) return false;
    return seen === undefined && before !== undefined && planCall(this.#seed, before).fault === 'early-close';
  }

  #isAfterClosing({ kind, outcome, reason, before }: Entry): boolean {
    // An answer to HEAD has no body for the code.
    const isTerminated = reason === 'D2S_ERR_UPSTREAM_TERMINATED' || reason === 'status 502';
    if (kind === 'socket' || before === undefined || outcome !== 'problem' || !isTerminated) return false;
    return leavesConnectionClosing(planCall(this.#seed, before));
  }

  #count(kind: string, what: string): void {
    const counts = this.counts[kind] ?? {};
    this.counts[kind] = counts;
    counts[what] = (counts[what] ?? 0) + 1;
  }

  #excuse(why: string): void {
    this.excused[why] = (this.excused[why] ?? 0) + 1;
  }
}
