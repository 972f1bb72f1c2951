import { beforeEach, describe, expect, it } from 'vitest';
import { Book } from '../../../chaos/accounts/book.ts';
import type { Entry } from '../../../chaos/accounts/entry.ts';
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

let book: Book;

beforeEach(() => {
  book = new Book(SEED);
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
  return Object.fromEntries(book.differences.counts);
}

const SEEN = [`S ${PLAIN}`, `E ${PLAIN}`];
const OTHER = idOf(({ kind, fault, id }) => kind === 'rpc' && fault === undefined && id !== PLAIN);
const RUBBISH = idOf(({ fault }) => fault === 'rubbish');
const LEAVES = idOf(({ leave }) => leave?.at === 'body');
const RESET = idOf(({ fault, answer }) => fault === 'reset-within' && answer.framing === 'close');
const CUT_SHORT = { outcome: 'aborted', reason: 'body', isRequestSent: false } as const;
const CUT = { outcome: 'failed', reason: 'cut', wasCut: true } as const;
const UNSENT = { outcome: 'unconnected', isHeadSent: false } as const;

/** `ledger`: the letters of the lines about the call. */
it.each<[string, Entry | undefined, string, Record<string, number>]>([
  ['a call that was answered before its body had arrived', entryOf(PLAIN), 'S', { 'lost calls': 1 }],
  ['a call that no client sent', undefined, 'S', { 'unknown calls': 1 }],
  ['a call that was not sent', entryOf(PLAIN, UNSENT), 'S', { 'unknown calls': 1, 'unplanned endings': 1 }],
  ['an answer where a fault was planned', entryOf(RUBBISH), 'SE', { 'unplanned endings': 1 }],
  ['a request that was cut short but arrived whole', entryOf(LEAVES, CUT_SHORT), 'SE', { 'completed requests': 1 }],
  ['a partial answer that ended like a whole one', entryOf(RESET, CUT), 'SE', { 'cut answers': 1 }],
  ['a client without an answer', entryOf(PLAIN, { outcome: 'hung' }), 'SE', { hung: 1, 'unplanned endings': 1 }],
])('the account book reports %s', (_, entry, ledger, reported) => {
  const lines = [...ledger].map((letter) => `${letter} ${entry?.id ?? 'r5'}`);
  expect(settle(entry === undefined ? [] : [entry], lines)).toEqual(reported);
});

describe('the account book', () => {
  it('reports nothing for a call that was sent, received once and answered', () => {
    expect(settle([entryOf(PLAIN)], SEEN)).toEqual({});
    expect(book.counts.rpc).toMatchObject({ sent: 1, seen: 1, outcomes: { answered: 1, failed: 0 } });
    expect(book.lifeTally(1).rpc).toEqual({ below500: 1, errors: 0, broken: 0 });
  });

  it('reports a call that was received again after its end', () => {
    settle([entryOf(PLAIN)], SEEN);
    expect(settle([], [`S ${PLAIN}`])).toEqual({ 'unknown calls': 1 });
  });

  it('reports a call without an end, and a call with two ends', () => {
    book.sent(PLAIN);
    book.settle(new Map());
    expect(Object.fromEntries(book.differences.counts)).toEqual({ 'without an end': 1 });
    book.over(entryOf(PLAIN));
    book.over(entryOf(PLAIN));
    expect(book.differences.counts.get('accounts')).toBe(1);
  });

  it('reports an unplanned failure, unless a fault was in progress', () => {
    const failed = { outcome: 'problem', reason: 'D2S_ERR_UPSTREAM_REFUSED', status: 502 } as const;
    book.windows.open('upstream: kill', 500)(600);
    expect(settle([entryOf(PLAIN, failed)], [])).toEqual({});
    expect(book.excused).toEqual(new Map([['upstream: kill', 1]]));
    const later = { ...failed, beganMs: 5_000, endedMs: 5_010 };
    expect(settle([entryOf(OTHER, later)], [])).toEqual({ 'unplanned endings': 1 });
  });

  it('excuses a call whose connection closed after an early answer, and only that call', () => {
    const broken = { outcome: 'failed', status: 0, reason: 'closed', hasAnswerBegun: false } as const;
    const before = idOf(({ fault }) => fault === 'early-close');
    expect(settle([entryOf(PLAIN, { ...broken, before })], [])).toEqual({});
    expect(book.lifeTally(1).rpc).toEqual({ below500: 0, errors: 0, broken: 0 });
    expect(settle([entryOf(OTHER, { ...broken, before: PLAIN })], [])).toEqual({ 'unplanned endings': 1 });
    expect(book.lifeTally(1).rpc).toEqual({ below500: 0, errors: 1, broken: 1 });
  });
});
