import { constants, deflateRawSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { MemoryBudget } from '../../../../src/limits/memory-budget.ts';
import {
  compressed,
  deflated,
  deflatedFinal,
  deflatedTogether,
  text,
} from '../../../support/protocol/websocket/frames.ts';
import { Listener, told, WITH_TAKEOVER, WITHOUT_TAKEOVER } from '../../../support/protocol/websocket/listener.ts';

const TAKEOVER = { deflate: WITH_TAKEOVER };
const NO_TAKEOVER = { deflate: WITHOUT_TAKEOVER };
/** Both kinds of directions. */
const ALL = [TAKEOVER, NO_TAKEOVER];
const join = (...parts: readonly Buffer[]): Buffer => Buffer.concat(parts);
/** Compressed with its end, which senders take off. */
const flushed = (content: string): Buffer => deflateRawSync(content, { finishFlush: constants.Z_SYNC_FLUSH });
const AFTER = compressed(deflated('after'));
const MALFORMED = { unread: 'malformed' };
const TOO_LARGE = { unread: 'inflated-too-large' };
const hex = (bytes: string): Buffer => Buffer.from(bytes.replaceAll(' ', ''), 'hex');

it.each([
  ['one block (RFC 7692 §7.2.3.1)', hex('c1 07 f2 48 cd c9 c9 07 00')],
  ['in fragments (§7.2.3.1)', hex('41 03 f2 48 cd 80 04 c9 c9 07 00')],
  ['not compressed (§7.2.3.3)', hex('c1 0b 00 05 00 fa ff 48 65 6c 6c 6f 00')],
  ['a block with BFINAL set (§7.2.3.4)', hex('c1 08 f3 48 cd c9 c9 07 00 00')],
  ['two blocks (§7.2.3.5)', hex('c1 0d f2 48 05 00 00 00 ff ff ca c9 c9 07 00')],
  ['after empty stored blocks', compressed(join(hex('00 00 00 ff ff'), hex('00 00 00 ff ff'), deflated('Hello')))],
  ['several streams, each ended by BFINAL', compressed(join(deflatedFinal('Hel'), deflatedFinal('lo')))],
])('a text is read that is %s', (_, bytes) => {
  for (const options of ALL) expect(told(join(bytes, AFTER), options)).toEqual([{ text: 'Hello' }, { text: 'after' }]);
});

it('a compressed message may refer to the one before (RFC 7692 §7.2.3.2)', () => {
  const bytes = hex('c1 07 f2 48 cd c9 c9 07 00 c1 05 f2 00 11 00 00');
  expect(told(bytes, TAKEOVER)).toEqual([{ text: 'Hello' }, { text: 'Hello' }]);
});

it('a compressed message may be empty; of no bytes at all, it ends context takeover', () => {
  const bytes = join(compressed(hex('00')), compressed(deflated('')), AFTER);
  for (const options of ALL) expect(told(bytes, options)).toEqual([{ text: '' }, { text: '' }, { text: 'after' }]);
  expect(told(join(compressed(''), AFTER), NO_TAKEOVER)).toEqual([{ text: '' }, { text: 'after' }]);
  expect(told(join(compressed(''), AFTER), TAKEOVER)).toEqual([{ text: '' }, MALFORMED]);
});

it('a compressed message of more streams than anyone sends is not inflated: each costs time, however short', () => {
  expect(told(compressed(Buffer.alloc(20_000, deflatedFinal(''))), NO_TAKEOVER)).toEqual([MALFORMED]);
});

it('a compressed message cannot refer to what was before BFINAL', async () => {
  const [first, second] = await deflatedTogether(['said before', 'said before']);
  const bytes = join(compressed(first), compressed(deflatedFinal('x')), compressed(second));
  expect(told(bytes, TAKEOVER)).toEqual([{ text: 'said before' }, { text: 'x' }, MALFORMED]);
});

it.each([
  ['a block of the reserved type', hex('07 00')],
  ['a block that is cut off', deflated('Hello, Hello, Hello').subarray(0, 6)],
  ['a stored block that goes on into what follows', hex('00 07 00 f8 ff 48 65')],
  ['a reference to before the beginning', hex('f2 00 11 00 00')],
  ['a stream that ends outside of the payload', deflatedFinal('Hello, Hello').subarray(0, -1)],
  ['an end that was not taken off', flushed('Hello')],
])('a message is lost alone without context takeover, and ends the reading with it: %s', (_, payload) => {
  const bytes = join(compressed(payload), AFTER);
  expect(told(bytes, NO_TAKEOVER)).toEqual([MALFORMED, { text: 'after' }]);
  expect(told(bytes, TAKEOVER)).toEqual([MALFORMED]);
});

it.each([
  ['when inflated', deflated('x'.repeat(1_001)), { maxInflatedBytes: 1_000 }, 'inflated-too-large'],
  ['on the wire', 'x'.repeat(101), { maxMessageBytes: 100 }, 'too-large'],
])('a message beyond the limit %s is lost alone, or ends the reading', (_, payload, limits, unread) => {
  const bytes = join(compressed(payload), compressed(deflated('x'.repeat(1_000))));
  expect(told(bytes, { ...NO_TAKEOVER, ...limits })).toEqual([{ unread }, { text: 'x'.repeat(1_000) }]);
  expect(told(bytes, { ...TAKEOVER, ...limits })).toEqual([{ unread }]);
});

it('all streams of a message together have one limit', () => {
  const payload = join(deflatedFinal('x'.repeat(600)), deflatedFinal('y'.repeat(600)));
  const options = { ...NO_TAKEOVER, maxInflatedBytes: 1_000 };
  expect(told(compressed(payload), options)).toEqual([TOO_LARGE]);
  const whole = { text: 'x'.repeat(600) + 'y'.repeat(600) };
  expect(told(compressed(payload), { ...options, maxInflatedBytes: 1_200 })).toEqual([whole]);
  expect(told(compressed(deflatedFinal('x'.repeat(1_002))), options)).toEqual([TOO_LARGE]);
});

const HELLO = compressed(deflated('Hello'));
const LONG = compressed(deflated('x'.repeat(60_000)));

it('the window is held only with context takeover, is no larger than the messages, and is given back when the reading ends', () => {
  expect(new Listener(NO_TAKEOVER).push(LONG).reader.heldBytes).toBe(0);
  const listener = new Listener(TAKEOVER).push(HELLO);
  const { reader, budget } = listener;
  expect(reader.heldBytes).toBe(1_024);
  listener.push(LONG);
  expect([reader.heldBytes, budget.usedBytes]).toEqual([36_864, 36_864]);
  reader.close();
  expect([reader.heldBytes, budget.usedBytes]).toEqual([0, 0]);
  const ended = new Listener(TAKEOVER).push(HELLO, text('', { rsv: 2 }));
  expect([ended.told.at(-1), ended.budget.usedBytes]).toEqual([MALFORMED, 0]);
});

it('the window without memory ends the reading after the current message', () => {
  const budget = new MemoryBudget(2_048);
  const first = new Listener({ ...TAKEOVER, budget }).push(HELLO);
  const second = new Listener({ ...TAKEOVER, budget }).push(HELLO, AFTER);
  expect(second.told).toEqual([{ text: 'Hello' }, { unread: 'budget' }]);
  first.push(compressed(deflated('again')));
  expect(first.texts).toEqual(['Hello', 'again']);
  expect([budget.usedBytes, budget.refusals.windows]).toEqual([1_024, 1]);
});
