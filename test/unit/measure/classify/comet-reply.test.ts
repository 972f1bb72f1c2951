import { expect, it } from 'vitest';
import type { ReplyRule } from '../../../../src/config/rules/comet-rules.ts';
import { isFailedReply, readReplyId } from '../../../../src/measure/classify/comet-reply.ts';

const REPLY: ReplyRule = { channel: undefined, id: ['id'], error: ['data', 'error'] };

it('an answer has the id of its call as a text or a number', () => {
  expect(readReplyId(REPLY, { channel: '/a', id: '7' })).toBe('7');
  expect(readReplyId({ ...REPLY, id: ['data', 'n'] }, { channel: '/a', data: { n: 7 } })).toBe('7');
  expect(readReplyId({ ...REPLY, id: ['ext', 'n'] }, { channel: '/a', ext: { n: 'x' } })).toBe('x');
  expect(readReplyId(REPLY, { channel: '/a' })).toBeUndefined();
  expect(readReplyId({ ...REPLY, id: ['data', 'n'] }, { channel: '/a', data: { n: {} } })).toBeUndefined();
});

it.each([
  [true, ['Timeout', 1, 0, true, {}, []]],
  [false, [null, false, '', undefined]],
])('an answer means failure (%s) with an error of %j', (failed, errors) => {
  for (const error of errors) {
    const reply = { channel: '/a', successful: true, data: { error } };
    expect(isFailedReply(REPLY, reply)).toBe(failed);
    expect(isFailedReply({ ...REPLY, error: undefined }, reply)).toBe(false);
  }
});

it('an answer that is not successful means failure, also without a pointer to an error', () => {
  expect(isFailedReply({ ...REPLY, error: undefined }, { channel: '/a', successful: false })).toBe(true);
});
