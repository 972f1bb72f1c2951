import { expect, it } from 'vitest';
import { parseAuthorization } from '../../../../src/monitor/access/presented.ts';
import { basic } from '../../../support/monitor/access/access-files.ts';

it.each([
  ['Basic', basic('ann', 'a:b c'), { kind: 'password', name: 'ann', password: 'a:b c' }],
  ['Basic in another letter case', basic('ann', 'x').replace('Basic', 'bAsIc  '), { name: 'ann', password: 'x' }],
  ['Bearer', 'Bearer d2s_abc', { kind: 'token', token: 'd2s_abc' }],
  ['bearer', 'bearer   abc ', { kind: 'token', token: 'abc' }],
])('the Authorization field is read with %s', (_what, field, expected) => {
  expect(parseAuthorization(field)).toMatchObject(expected);
});

it('the Authorization field gives the same password for every encoding that clients use', () => {
  const passwords = [
    basic('ann', 'Größe'),
    basic('ann', 'Gro\u0308\u00dfe'),
    `Basic ${Buffer.from('ann:Größe', 'latin1').toString('base64')}`,
  ].map((field) => parseAuthorization(field));
  expect(passwords[2]).toEqual(passwords[0]);
  expect(passwords[0]).toMatchObject({ password: 'Größe' });
  expect(passwords[1]).toMatchObject({ password: 'Größe' });
});

it.each([
  ...[undefined, '', 'Basic', 'Basic ', 'Bearer', 'Bearer  ', 'Digest a=b', 'Basic !!!!', 'd2s_abc'],
  `Basic ${btoa('ann')}`,
])('the Authorization field presents nothing with %j', (field) => {
  expect(parseAuthorization(field)).toBeUndefined();
});
