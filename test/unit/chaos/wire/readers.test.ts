/** Only what the planted lies of test/system/chaos cannot show: malformed input is refused. */
import { expect, it } from 'vitest';
import { BodyReader } from '../../../chaos/wire/body-reader.ts';
import { FrameReader, OPCODES, toFrame } from '../../../support/load/frames.ts';

it.each([
  ['zz\r\nabc\r\n', 'malformed chunk size'],
  ['3\r\nabcd\r\n', 'longer than its size'],
  ['3\nabc\r\n', 'bare LF'],
])('the body reader refuses the chunks %j', (text, message) => {
  const reader = new BodyReader({ kind: 'chunked' }, () => undefined);
  expect(() => reader.read(Buffer.from(text), 0)).toThrow(message);
});

it('a body is not complete before its last byte', () => {
  const reader = new BodyReader({ kind: 'chunked' }, () => undefined);
  reader.read(Buffer.from('3\r\nabc\r\n0\r\n\r'), 0);
  expect(reader.isDone).toBe(false);
});

it('the frame reader refuses a frame without a mask', () => {
  const frame = toFrame(OPCODES.text, Buffer.from('abc'));
  expect(() => [...new FrameReader(true).read(frame)]).toThrow('unexpected flags or masking');
});
