import { describe, expect, it } from 'vitest';
import { isUnknownClient, parseError, toErrorCode } from '../../../src/protocol/bayeux/error.ts';

describe('an error', () => {
  it.each([
    ['401::No client ID', { code: 401, args: [], message: 'No client ID' }],
    ['402:xj3s:Unknown Client ID', { code: 402, args: ['xj3s'], message: 'Unknown Client ID' }],
    [
      '403:xj3s,/foo/bar:Subscription denied',
      { code: 403, args: ['xj3s', '/foo/bar'], message: 'Subscription denied' },
    ],
    ['500::a: b: c', { code: 500, args: [], message: 'a: b: c' }],
    ['400:broken', { code: 400, args: [], message: 'broken' }],
    ['404:a,,b:', { code: 404, args: ['a', '', 'b'], message: '' }],
  ])('%s is taken apart', (text, parts) => {
    expect(parseError(text)).toEqual(parts);
    expect(toErrorCode(text)).toBe(parts.code);
  });

  it.each(['', 'Authentication failed', '40::x', '4020::x', '402', ' 402::x', 'a402::x', undefined])(
    '%s has no code',
    (text) => {
      expect(parseError(text)).toBeUndefined();
      expect(toErrorCode(text)).toBeUndefined();
      expect(isUnknownClient(text)).toBe(false);
    },
  );

  it('has a bound for arguments, past which the last one holds the rest', () => {
    const { args = [] } = parseError(`403:${'a,'.repeat(100_000)}:no`) ?? {};
    expect(args).toHaveLength(16);
    expect(args[15]).toHaveLength(200_000 - 15 * 2);
  });

  it('says that the client is unknown, with the number and the words of each server', () => {
    const unknown = [
      '402::session_unknown',
      '402::Unknown client',
      '401:nobody:Unknown client',
      '402:x:Unknown Client ID',
    ];
    const other = ['402:data:Missing required parameter', '401::No client ID', '404:/a:Unknown channel', '403::x'];
    expect(unknown.map(isUnknownClient)).toEqual(unknown.map(() => true));
    expect(other.map(isUnknownClient)).toEqual(other.map(() => false));
  });
});
