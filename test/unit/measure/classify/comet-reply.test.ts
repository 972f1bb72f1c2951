import { describe, expect, it } from 'vitest';
import type { ReplyRule } from '../../../../src/config/rules/comet-rules.ts';
import { isFailedReply, toReplyId } from '../../../../src/measure/classify/comet-reply.ts';

const REPLY: ReplyRule = { channel: undefined, id: ['id'], error: ['data', 'error'] };

describe('an answer', () => {
  it('has the id of its call as a text or a number', () => {
    expect(toReplyId(REPLY, { channel: '/a', id: '7' })).toBe('7');
    expect(toReplyId({ ...REPLY, id: ['data', 'n'] }, { channel: '/a', data: { n: 7 } })).toBe('7');
    expect(toReplyId({ ...REPLY, id: ['ext', 'n'] }, { channel: '/a', ext: { n: 'x' } })).toBe('x');
    expect(toReplyId(REPLY, { channel: '/a' })).toBeUndefined();
    expect(toReplyId({ ...REPLY, id: ['data', 'n'] }, { channel: '/a', data: { n: {} } })).toBeUndefined();
  });

  it.each([
    ['Timeout', true],
    [1, true],
    [0, true],
    [true, true],
    [{}, true],
    [[], true],
    [null, false],
    [false, false],
    ['', false],
    [undefined, false],
  ])('with the error %j means failure: %s', (error, failed) => {
    expect(isFailedReply(REPLY, { channel: '/a', successful: true, data: { error } })).toBe(failed);
    expect(isFailedReply({ ...REPLY, error: undefined }, { channel: '/a', data: { error } })).toBe(false);
  });

  it('that is not successful means failure, also without a pointer to an error', () => {
    expect(isFailedReply({ ...REPLY, error: undefined }, { channel: '/a', successful: false })).toBe(true);
  });
});
