import { expect, it } from 'vitest';
import { MemoryBudget } from '../../../../src/limits/memory-budget.ts';
import { KEPT_BODY_BYTES } from '../../../../src/limits/unfinished-bodies.ts';
import { OPCODE } from '../../../../src/protocol/websocket/frame-head.ts';
import {
  type MessageReaderOptions,
  WebSocketMessageReader,
} from '../../../../src/protocol/websocket/message-reader.ts';
import { clientText, compressed, deflated, frame, text } from '../../../support/protocol/websocket/frames.ts';
import {
  Listener,
  readerOptions,
  told,
  WITH_TAKEOVER,
  WITHOUT_TAKEOVER,
} from '../../../support/protocol/websocket/listener.ts';

const MALFORMED = [{ unread: 'malformed' }];

it('messages have lengths of 7, 16 and 64 bits, also where fewer would do', () => {
  for (const length of [0, 1, 125, 126, 127, 65_535, 65_536, 70_000]) {
    const content = 'x'.repeat(length);
    expect(told(text(content))).toEqual([{ text: content }]);
    expect(told(text(content, { lengthBytes: 8 }))).toEqual([{ text: content }]);
    expect(told(clientText(content), { from: 'client' })).toEqual([{ text: content }]);
  }
});

it('messages of binary data are counted when they have passed, whatever their size', () => {
  const listener = new Listener({ maxMessageBytes: 10 });
  listener.push(frame({ opcode: OPCODE.binary, payload: 'x'.repeat(100), fin: false }));
  expect(listener.told).toEqual([]);
  expect(listener.reader.heldBytes).toBe(0);
  listener.push(frame({ opcode: 0, payload: 'y' }), text('after'));
  expect(listener.told).toEqual([{ event: 'binary' }, { text: 'after' }]);
});

it('messages of text that is no UTF-8 are lost alone', () => {
  // A surrogate. Behind it a byte order mark, which is kept.
  const bytes = Buffer.concat([text(Buffer.from('eda080', 'hex')), text('\ufeffafter')]);
  expect(told(bytes)).toEqual([{ unread: 'text' }, { text: '\ufeffafter' }]);
});

it('messages end with the close frame', () => {
  const bytes = Buffer.concat([frame({ opcode: OPCODE.close, payload: '\u0003\u00e8bye' }), text('after')]);
  expect(told(bytes)).toEqual([{ event: 'close' }]);
});

const options = { maxMessageBytes: 10 };

it('a message that is too large is reported as soon as its frame begins, and lost alone', () => {
  const listener = new Listener(options).push(text('x'.repeat(11)).subarray(0, 2));
  expect(listener.told).toEqual([{ unread: 'too-large' }]);
  expect([listener.reader.heldBytes, listener.budget.usedBytes]).toEqual([0, 0]);
  listener.push(text('x'.repeat(11)).subarray(2), text('0123456789'));
  expect(listener.told).toEqual([{ unread: 'too-large' }, { text: '0123456789' }]);
});

it('a message that is too large counts all its fragments together, and holds nothing of them', () => {
  const listener = new Listener(options).push(text('x'.repeat(6), { fin: false }));
  expect(listener.reader.heldBytes).toBeGreaterThan(0);
  listener.push(frame({ opcode: 0, payload: 'y'.repeat(6), fin: false }));
  expect([listener.reader.heldBytes, listener.budget.usedBytes]).toEqual([0, 0]);
  listener.push(frame({ opcode: 0, payload: 'z'.repeat(6) }), text('after'));
  expect(listener.told).toEqual([{ unread: 'too-large' }, { text: 'after' }]);
});

const begun = text('', { rsv: 4, fin: false });

it.each<[string, Buffer, Partial<MessageReaderOptions>?]>([
  ['RSV1', text('x', { rsv: 4 })],
  ['RSV3', frame({ opcode: 0x9, rsv: 1 })],
  ['a reserved opcode', frame({ opcode: 0x3 })],
  ['a continuation of nothing', frame({ opcode: 0 })],
  ['a message within a fragmented one', Buffer.concat([text('', { fin: false }), text('x')])],
  ['a masked frame of the upstream', clientText('x')],
  ['a fragmented control frame', frame({ opcode: 0x9, fin: false })],
  ['a long control frame', frame({ opcode: 0x9, payload: 'x'.repeat(126) })],
  ['a close frame of one byte', frame({ opcode: OPCODE.close, payload: 'x' })],
  ['a length of 2^64 - 1', text('x', { announced: 2n ** 64n - 1n })],
  ['an unmasked frame of the client', text('x'), { from: 'client' }],
  ['RSV1 on a continuation', Buffer.concat([begun, frame({ opcode: 0, rsv: 4 })]), { deflate: WITHOUT_TAKEOVER }],
  ['RSV1 on a control frame', frame({ opcode: 0x9, rsv: 4 }), { deflate: WITHOUT_TAKEOVER }],
])('a direction is unread for good after %s', (_, bytes, more) => {
  const listener = new Listener(more).push(bytes, text('after'));
  expect([listener.told, listener.reader.isUnread]).toEqual([MALFORMED, true]);
});

it('memory is held for the bytes that have come, not for the announced ones', () => {
  const listener = new Listener().push(text('x', { announced: 900_000n }));
  expect(listener.reader.heldBytes).toBeLessThan(KEPT_BODY_BYTES + 1_000);
  expect(listener.budget.usedBytes).toBe(listener.reader.heldBytes);
});

it('memory is given back with the message that was held, and by close', () => {
  const bytes = text('x'.repeat(5_000));
  const listener = new Listener().push(bytes.subarray(0, 4_000));
  expect(listener.budget.usedBytes).toBe(KEPT_BODY_BYTES + 5_000);
  listener.push(bytes.subarray(4_000));
  expect([listener.texts.length, listener.budget.usedBytes, listener.reader.heldBytes]).toEqual([1, 0, 0]);
  const closed = new Listener().push(text('x'.repeat(5_000)).subarray(0, 4_000));
  closed.reader.close();
  closed.push(text('x'.repeat(5_000)).subarray(4_000));
  expect([closed.told, closed.budget.usedBytes]).toEqual([[], 0]);
});

it('memory that is refused loses that message, and the next is read again', () => {
  const budget = new MemoryBudget(1_000);
  const listener = new Listener({ budget });
  const large = text('x'.repeat(2_000));
  listener.push(large.subarray(0, 500));
  expect(listener.told).toEqual([{ unread: 'budget' }]);
  listener.push(large.subarray(500), text('after'));
  expect(listener.told).toEqual([{ unread: 'budget' }, { text: 'after' }]);
  expect([budget.refusals.bodies, budget.usedBytes]).toEqual([1, 0]);
});

it('a close from a handler ends the reading within the bytes being pushed', () => {
  const texts: string[] = [];
  const budget = new MemoryBudget();
  const reader = new WebSocketMessageReader(readerOptions({ budget, deflate: WITH_TAKEOVER }), {
    onText: (content) => {
      texts.push(content);
      reader.close();
      return undefined;
    },
    onUnread: (reason) => expect.fail(reason),
  });
  reader.push(Buffer.concat([compressed(deflated('one')), text('two')]));
  reader.push(text('three'));
  expect([texts, budget.usedBytes, reader.isUnread]).toEqual([['one'], 0, false]);
});
