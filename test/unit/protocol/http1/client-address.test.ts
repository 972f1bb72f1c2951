import { expect, it } from 'vitest';
import { AddressRanges } from '../../../../src/base/address.ts';
import { clientAddressOf } from '../../../../src/protocol/http1/client-address.ts';
import { costOf } from '../../../support/protocol/cost.ts';

const TRUSTED = new AddressRanges(['10.0.0.0/8', '127.0.0.1', 'fd00::/8']);
const xff = (...lines: string[]) => clientAddressOf('x-forwarded-for', lines, TRUSTED);
const forwarded = (...lines: string[]) => clientAddressOf('forwarded', lines, TRUSTED);

it.each<[why: string, lines: string[], client: string | undefined]>([
  ['the last that is not trusted', ['203.0.113.7, 198.51.100.1, 10.0.0.2'], '198.51.100.1'],
  ['what stands left of it may be invented', ['127.0.0.1, 6.6.6.6, 203.0.113.7'], '203.0.113.7'],
  ['several lines are one list', ['6.6.6.6', '203.0.113.7', '10.0.0.2, 10.0.0.3'], '203.0.113.7'],
  ['all trusted: the first', ['10.0.0.9, 10.0.0.2'], '10.0.0.9'],
  ['IPv6 with a port', ['[2001:db8::7]:443'], '2001:db8::7'],
  ['IPv4 in IPv6, with a port', ['[::ffff:203.0.113.7]:80'], '203.0.113.7'],
  ['no field', [], undefined],
  ['an empty element ends the walk', ['6.6.6.6, , 10.0.0.2'], '10.0.0.2'],
  ['unknown before a trusted one', ['6.6.6.6, unknown, 10.0.0.2'], '10.0.0.2'],
  ['a zone in brackets', ['[fe80::1%eth0]:80'], undefined],
  ['in quotes', ['"203.0.113.7"'], undefined],
])('the client by X-Forwarded-For: %s', (_, lines, client) => {
  expect(xff(...lines)).toBe(client);
});

it('the walk of X-Forwarded-For ends after 2,000 trusted addresses: a head of 64 KiB has no more work than that', () => {
  const list = `203.0.113.7${',10.0.0.3'.repeat(4_000)}${',10.0.0.2'.repeat(1_999)}`;
  expect(xff(list)).toBe('10.0.0.3');
});

it.each<[why: string, lines: string[], client: string | undefined]>([
  ['among other pairs', ['by=10.0.0.2;For=203.0.113.7; proto=https;host="a:1"'], '203.0.113.7'],
  ['in quotes with a port', ['for="203.0.113.7:80"'], '203.0.113.7'],
  ['escapes in quotes', ['for="203\\.0.113.7"'], '203.0.113.7'],
  ['the last that is not trusted', ['for=6.6.6.6, for=203.0.113.7', 'for="[fd00::2]"'], '203.0.113.7'],
  ['a for in quotes beside the real one', ['for=203.0.113.7;host="a;for=6.6.6.6;b"'], '203.0.113.7'],
  ['an open quote of the client', ['for="6.6.6.6, for=203.0.113.7'], '203.0.113.7'],
  ['an open quote that would hide a trusted one', ['for=";x=, for=203.0.113.7, for=10.0.0.2'], '203.0.113.7'],
  ['unknown', ['for=6.6.6.6, for=unknown, for=10.0.0.2'], '10.0.0.2'],
  ['twice', ['for=6.6.6.6;for=203.0.113.7'], undefined],
  ['another name that ends the same', ['xfor=203.0.113.7'], undefined],
  ['IPv6 without quotes', ['for=[2001:db8::7]'], undefined],
])('the client by Forwarded: %s', (_, lines, client) => {
  expect(forwarded(...lines)).toBe(client);
});

it.each([
  ['escapes', `for="${'\\'.repeat(64_000)}`],
  ['quotes', '"'.repeat(64_000)],
  ['pairs without an end', 'a=b;'.repeat(16_000)],
  ['blanks', `for=10.0.0.2${' '.repeat(64_000)}!`],
])('64 KiB of %s cost less than a hundred times as much as good elements', (_, value) => {
  expect(forwarded(value)).toBeUndefined();
  const good = 'for=10.0.0.2, '.repeat(64_000 / 14);
  // A search that is not linear would cost ten thousand times as much.
  expect(costOf(() => forwarded(value))).toBeLessThan(100 * costOf(() => forwarded(good)));
});
