import { expect, it } from 'vitest';
import { isUnknownClient, parseErrorCode } from '../../../../src/protocol/bayeux/error.ts';

const toCodeless = (text: string | undefined): [string | undefined, undefined] => [text, undefined];

it.each<[string | undefined, number | undefined]>([
  ['401::No client ID', 401],
  ['402:xj3s:Unknown Client ID', 402],
  ['500::a: b: c', 500],
  ['400:broken', 400],
  ...['', 'Authentication failed', '40::x', '4020::x', '402', ' 402::x', 'a402::x', undefined].map(toCodeless),
])('an error has the code at its start, if any: %s', (text, code) => {
  expect(parseErrorCode(text)).toBe(code);
});

it('an error says that the client is unknown, with the number and the words of each server', () => {
  const gone = ['402::session_unknown', '402::Unknown client', '401:nobody:Unknown client', '402:x:Unknown Client ID'];
  const other = ['402:data:Missing required parameter', '401::No client ID', '404:/a:Unknown channel', undefined];
  expect(gone.map(isUnknownClient)).toEqual(gone.map(() => true));
  expect(other.map(isUnknownClient)).toEqual(other.map(() => false));
});
