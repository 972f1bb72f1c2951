import { beforeEach, describe, expect, it } from 'vitest';
import { Book } from '../../../chaos/accounts/book.ts';
import { Differences } from '../../../chaos/accounts/differences.ts';
import type { Entry } from '../../../chaos/accounts/entry.ts';
import { Windows } from '../../../chaos/accounts/windows.ts';
import { type CallPlan, planCall } from '../../../chaos/truth/call-plan.ts';
import { noteLine, type Seen } from '../../../chaos/truth/ledger.ts';

const SEED = 3;
const IDS = Array.from({ length: 2_000 }, (_, i) => `r${i}`);

function idOf(is: (plan: CallPlan) => boolean): string {
  const id = IDS.find((one) => is(planCall(SEED, one)));
  if (id === undefined) throw new Error('no such call');
  return id;
}

const PLAIN = idOf(({ kind, fault }) => kind === 'rpc' && fault === undefined);

let differences: Differences;
let windows: Windows;
let book: Book;

beforeEach(() => {
  differences = new Differences();
  windows = new Windows();
  book = new Book(SEED, differences, windows);
});

function entryOf(id: string, over: Partial<Entry> = {}): Entry {
  const { kind } = planCall(SEED, id);
  const sent = { isHeadSent: true, isRequestSent: true, hasAnswerBegun: true, wasCut: false, wrong: undefined };
  const where = { life: 1, before: undefined, beganMs: 1_000, endedMs: 1_010, sentMessages: 0, echoes: 0 };
  return { id, kind, outcome: 'answered', status: 200, reason: '', ...sent, ...where, ...over };
}

function settle(entries: readonly Entry[], ledger: readonly string[]): Record<string, number> {
  const seen = new Map<string, Seen>();
  for (const line of ledger) noteLine(seen, line);
  for (const entry of entries) {
    book.sent(entry.id);
    book.over(entry);
  }
  book.settle(seen);
  return Object.fromEntries(differences.counts);
}

describe('the account book', () => {
  it('reports nothing for a call that was sent, received once and answered', () => {
    expect(settle([entryOf(PLAIN)], [`S ${PLAIN}`, `E ${PLAIN}`])).toEqual({});
    expect(book.counts.rpc).toMatchObject({ sent: 1, seen: 1, outcomes: { answered: 1, failed: 0 } });
    expect(book.lifeTally(1).rpc).toEqual({ below500: 1, errors: 0, broken: 0 });
  });

  it('reports a call that was answered but never received', () => {
    expect(settle([entryOf(PLAIN)], [])).toMatchObject({ 'lost calls': 2 });
  });

  it('reports a call that was answered before its body had arrived', () => {
    expect(settle([entryOf(PLAIN)], [`S ${PLAIN}`])).toEqual({ 'lost calls': 1 });
  });

  it('reports a call that was received twice, at once or later', () => {
    expect(settle([entryOf(PLAIN)], [`S ${PLAIN}`, `S ${PLAIN}`, `E ${PLAIN}`])).toEqual({ 'doubled calls': 1 });
    expect(settle([], [`S ${PLAIN}`])).toEqual({ 'doubled calls': 1, 'unknown calls': 1 });
  });

  it('reports a call that no client sent', () => {
    expect(settle([], ['S r5'])).toEqual({ 'unknown calls': 1 });
    expect(settle([entryOf(PLAIN, { outcome: 'unconnected', isHeadSent: false })], [`S ${PLAIN}`])).toMatchObject({
      'unknown calls': 2,
    });
  });

  it('reports a call without an end, and a call with two ends', () => {
    book.sent(PLAIN);
    book.settle(new Map());
    expect(Object.fromEntries(differences.counts)).toEqual({ 'without an end': 1 });
    book.over(entryOf(PLAIN));
    book.over(entryOf(PLAIN));
    expect(differences.counts.get('accounts')).toBe(1);
  });

  it('reports wrong bytes on either side', () => {
    const ledger = [`S ${PLAIN}`, `E ${PLAIN}`, `W ${PLAIN} its body: byte 3 is 0x1, not 0x2`];
    expect(settle([entryOf(PLAIN, { wrong: 'byte 17' })], ledger)).toEqual({ 'wrong bytes': 2 });
    expect(differences.first).toContain(`wrong bytes: ${PLAIN}, at the upstream: its body: byte 3 is 0x1, not 0x2`);
  });

  it('reports an unplanned failure, unless a fault was in progress', () => {
    const failed = { outcome: 'problem', reason: 'D2S_ERR_UPSTREAM_REFUSED', status: 502 } as const;
    windows.open('upstream: kill', 500)(600);
    expect(settle([entryOf(PLAIN, failed)], [])).toEqual({});
    expect(book.excused).toEqual(new Map([['upstream: kill', 1]]));
    const later = { beganMs: 5_000, endedMs: 5_010 };
    const other = idOf(({ kind, fault, id }) => kind === 'rpc' && fault === undefined && id !== PLAIN);
    expect(settle([entryOf(other, { ...failed, ...later })], [])).toEqual({ 'unplanned endings': 1 });
  });

  it('excuses a call whose connection closed after an early answer, and only that call', () => {
    const broken = { outcome: 'failed', status: 0, reason: 'closed', hasAnswerBegun: false } as const;
    const earlyClosed = idOf(({ fault }) => fault === 'early-close');
    expect(settle([entryOf(PLAIN, { ...broken, before: earlyClosed })], [])).toEqual({});
    expect(book.lifeTally(1).rpc).toEqual({ below500: 0, errors: 0, broken: 0 });
    const other = idOf(({ id, kind, fault }) => kind === 'rpc' && fault === undefined && id !== PLAIN);
    expect(settle([entryOf(other, { ...broken, before: PLAIN })], [])).toEqual({ 'unplanned endings': 1 });
    expect(book.lifeTally(1).rpc).toEqual({ below500: 0, errors: 1, broken: 1 });
  });

  it('reports an answer where a fault was planned', () => {
    const id = idOf(({ fault }) => fault === 'rubbish');
    expect(settle([entryOf(id)], [`S ${id}`, `E ${id}`])).toEqual({ 'unplanned endings': 1 });
  });

  it('reports a request that was cut short but arrived whole', () => {
    const id = idOf(({ leave }) => leave?.at === 'body');
    const cut = { outcome: 'aborted', reason: 'body', isRequestSent: false } as const;
    expect(settle([entryOf(id, cut)], [`S ${id}`, `E ${id}`])).toEqual({ 'completed requests': 1 });
  });

  it('reports a partial answer that ended like a whole one', () => {
    const id = idOf(({ fault, answer }) => fault === 'reset-within' && answer.framing === 'close');
    const cut = { outcome: 'failed', reason: 'cut', wasCut: true } as const;
    expect(settle([entryOf(id, cut)], [`S ${id}`, `E ${id}`])).toEqual({ 'cut answers': 1 });
  });

  it('reports a client that never got an answer', () => {
    expect(settle([entryOf(PLAIN, { outcome: 'hung' })], [`S ${PLAIN}`, `E ${PLAIN}`])).toMatchObject({ hung: 1 });
  });
});
