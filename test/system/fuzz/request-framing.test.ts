import { expect, it } from 'vitest';
import { RequestReader } from '../../../src/protocol/http1/request-reader.ts';
import { ambiguousMessages } from '../../corpus/smuggling.ts';
import { playsAll } from '../../support/effort.ts';
import { Random } from '../../support/fuzz/random.ts';
import { contentOfChunks, readStrictly, type StrictRequest } from '../../support/smuggling/strict-reader.ts';
import { MARKER } from '../../support/smuggling/verdict.ts';
import { mutatedRequests, pieces } from './request-corpus.ts';

/** FUZZ_CASES=1000000 for a long run; FUZZ_SEED to repeat one. */
const CASES = Number(process.env.FUZZ_CASES ?? (playsAll ? 10_000 : 3_000));
const SEED = Number(process.env.FUZZ_SEED ?? 20_260);
const MAX_HEAD_BYTES = 16 * 1024;

/** Ends any head and any chunk line that a mutation left open, so that both readers must decide. */
const TERMINATOR = '\r\n\r\n';

type ReadRequest = Pick<StrictRequest, 'method' | 'target' | 'body'>;

interface RelayReading {
  /** Requests that the relay accepts, read to their last byte. */
  readonly requests: readonly ReadRequest[];
  /** `refused`: a bad head. `broken`: a broken body. `last`: the client asked to close. `waiting`: incomplete. */
  readonly end: 'refused' | 'broken' | 'last' | 'waiting';
}

/** Reads a client's bytes with the relay's own reader, without sockets. */
function readWithRelay(chunks: readonly Buffer[], maxHeadBytes: number): RelayReading {
  const requests: ReadRequest[] = [];
  const reader = new RequestReader(maxHeadBytes);
  let current: { method: string; target: string; isLast: boolean; isChunked: boolean; raw: string } | undefined;
  const take = (bytes: Buffer, headBytes: number): boolean => {
    if (current === undefined) return false;
    current.raw += bytes.toString('latin1', headBytes);
    if (!reader.isDone) return false;
    const { method, target, isLast, isChunked, raw } = current;
    requests.push({ method, target, body: isChunked ? contentOfChunks(raw) : raw });
    current = undefined;
    return isLast;
  };
  for (const chunk of chunks) {
    if (reader.isDone) {
      reader.append(chunk);
    } else {
      const bytes = reader.continue(chunk);
      if (bytes === undefined) return { requests, end: 'broken' };
      if (take(bytes, 0)) return { requests, end: 'last' };
    }
    while (reader.isDone && reader.unread.length > 0) {
      const head = reader.nextHead();
      if (head === undefined) break;
      if (typeof head === 'string') return { requests, end: 'refused' };
      const { method, target, isLast, framing, text } = head;
      current = { method, target, isLast, isChunked: framing.kind === 'chunked', raw: '' };
      const bytes = reader.begin(head);
      if (bytes === undefined) return { requests, end: 'broken' };
      if (take(bytes, text.length)) return { requests, end: 'last' };
    }
  }
  return { requests, end: 'waiting' };
}

it('each ambiguous message is read or refused as the corpus says, in one piece and byte by byte', () => {
  for (const { name, bytes, taken } of ambiguousMessages) {
    const text = bytes + MARKER;
    const whole = readWithRelay([Buffer.from(text, 'latin1')], MAX_HEAD_BYTES);
    const octets = Array.from(text, (octet) => Buffer.from(octet, 'latin1'));
    expect(readWithRelay(octets, MAX_HEAD_BYTES), name).toEqual(whole);
    expect(readStrictly(text).requests.slice(0, whole.requests.length), name).toMatchObject(whole.requests);
    if (taken.length > 1) continue;
    const end = ['refused', 'broken'].includes(whole.end) ? 'refused' : whole.end === 'waiting' ? 'open' : 'last';
    expect(end, name).toBe(taken[0] === 'served' || taken[0] === 'closed' ? 'last' : taken[0]);
    if (taken[0] === 'served') expect(whole.requests.at(-1)?.target, name).toBe('/marker');
  }
});

it(`the framing of ${CASES} mutated streams is that of RFC 9112, and accepts nothing that it rejects`, {
  timeout: 3_600_000,
}, () => {
  const random = new Random(SEED);
  const ends = { refused: 0, broken: 0, last: 0, waiting: 0 };
  let taken = 0;
  for (let i = 0; i < CASES; i += 1) {
    const text = mutatedRequests(random) + TERMINATOR;
    const relay = readWithRelay(pieces(text, random), MAX_HEAD_BYTES);
    const strict = readStrictly(text);
    const about = `seed ${SEED}, case ${i}: ${JSON.stringify(text)}`;
    ends[relay.end] += 1;
    taken += relay.requests.length;
    expect(strict.requests.slice(0, relay.requests.length), about).toMatchObject(relay.requests);
    // The relay must not go on where a strict reader refuses; it may refuse more.
    if (strict.end === 'refused') expect(relay.end, about).not.toBe('waiting');
  }
  // The comparison is valid only if all endings occur often.
  expect(taken).toBeGreaterThan(CASES / 4);
  expect(ends.refused).toBeGreaterThan(CASES / 20);
  expect(ends.broken).toBeGreaterThan(CASES / 100);
});
