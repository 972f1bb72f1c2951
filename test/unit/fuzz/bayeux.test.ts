import vm from 'node:vm';
import { expect, it } from 'vitest';
import type { CometWhen } from '../../../src/config/rules/comet-rules.ts';
import { CometClassifier, isFailedReply, readReplyId } from '../../../src/measure/classify/comet-classifier.ts';
import { type BayeuxMessage, isUnknownClient } from '../../../src/protocol/bayeux/message.ts';
import { Random } from '../../support/fuzz/random.ts';
import { parseCallbackMessages, parseRequestText, parseResponseText } from '../protocol/bayeux/read-all.ts';
import { CALLBACK, mutatedText, type WireText } from './bayeux-corpus.ts';

/** FUZZ_CASES=500000 for a long run; FUZZ_SEED to repeat one. */
const CASES = Number(process.env.FUZZ_CASES ?? 5_000);
const SEED = Number(process.env.FUZZ_SEED ?? 20_280);
const FORM = 'application/x-www-form-urlencoded';

const classifier = new CometClassifier({ rules: [], defaultRules: true });
const browser = vm.createContext({ called: undefined });
vm.runInContext(`function ${CALLBACK}(...args) { called = JSON.stringify(args); }`, browser);

const READERS: Readonly<Record<WireText['kind'], (text: string) => readonly BayeuxMessage[] | undefined>> = {
  json: (text) => parseResponseText(text, undefined),
  form: (text) => parseRequestText(FORM, text),
  query: (text) => parseCallbackMessages(`/cometd?${Buffer.from(text).toString('latin1')}`),
  script: (text) => parseResponseText(text, CALLBACK),
};

/** The values that a peer would take for messages or arrays of them, each decoded by the platform's own reader. */
function readAsPeer({ kind, text }: WireText): unknown[] {
  if (kind === 'json') return [JSON.parse(text)];
  if (kind === 'script') return [readAsBrowser(text)];
  // A query has been through UTF-8 before it is read.
  // Node 20 misreads other characters beside a broken escape, so they are escaped for it.
  const escaped = Buffer.from(text)
    .toString('utf8')
    .replace(/[^\0-\x7f]/gu, encodeURIComponent);
  const values = new URLSearchParams(escaped).getAll('message');
  return values.length === 0 ? [JSON.parse(text)] : values.map((value) => JSON.parse(value));
}

function readAsBrowser(text: string): unknown {
  // A server may also answer without the callback.
  if (!text.includes(CALLBACK) || /^\s*[[{]/.test(text)) return JSON.parse(text);
  browser.called = undefined;
  vm.runInContext(text, browser);
  return (JSON.parse(String(browser.called)) as unknown[])[0];
}

/** Channels and ids of all messages in `values`, found independently of our reader. */
function outline(values: readonly unknown[]): string[] {
  return values
    .flat()
    .filter((value): value is { channel: string; id?: unknown } => {
      return typeof value === 'object' && value !== null && typeof Reflect.get(value, 'channel') === 'string';
    })
    .map(({ channel, id }) => JSON.stringify([channel, ['string', 'number'].includes(typeof id) ? `${id}` : null]));
}

/** Runs every operation on a message; returns its number of meanings. */
function use(message: BayeuxMessage, about: string): number {
  isUnknownClient(message.error);
  let meanings = 0;
  for (const when of ['subscribe', 'unsubscribe', 'publish', 'delivery'] satisfies CometWhen[]) {
    for (const channel of [message.channel, ...(message.subscription ?? [])]) {
      const meaning = classifier.classify(when, channel, message.data);
      if (meaning === undefined) continue;
      meanings += 1;
      expect(meaning.name, about).not.toBe('');
      expect(classifier.classify(when, channel, message.data), about).toEqual(meaning);
      expect(['string', 'undefined']).toContain(typeof readReplyId(meaning.reply, message));
      expect(isFailedReply(meaning.reply, message), about).toBe(message.successful === false);
    }
  }
  return meanings;
}

it(`reads ${CASES} mutated texts of Bayeux as their receivers would, and never throws`, { timeout: 3_600_000 }, () => {
  const random = new Random(SEED);
  const plain = Object.getOwnPropertyNames(Object.prototype);
  const seen = { json: 0, form: 0, query: 0, script: 0, refused: 0, meanings: 0 };
  for (let i = 0; i < CASES; i += 1) {
    const wire = mutatedText(random);
    const about = `seed ${SEED}, case ${i}, ${wire.kind}: ${JSON.stringify(wire.text)}`;
    const messages = READERS[wire.kind](wire.text);
    if (messages === undefined) {
      seen.refused += 1;
      continue;
    }
    seen[wire.kind] += 1;
    // Where we read messages, the recipient reads the same ones.
    const outlined = messages.map(({ channel, id }) => JSON.stringify([channel, id ?? null]));
    expect(outlined, about).toEqual(outline(readAsPeer(wire)));
    for (const message of messages) {
      seen.meanings += use(message, about);
    }
  }
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(plain);
  // The comparison is valid only if texts of all kinds are often read, and often refused.
  for (const kind of ['json', 'form', 'query', 'script'] as const) expect(seen[kind], kind).toBeGreaterThan(CASES / 20);
  expect(seen.refused).toBeGreaterThan(CASES / 10);
  expect(seen.meanings).toBeGreaterThan(CASES / 4);
});
