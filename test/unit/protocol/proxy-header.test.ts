import { expect, it } from 'vitest';
import { readProxyHeader } from '../../../src/protocol/proxy-header.ts';

const SIGNATURE = '0d0a0d0a000d0a515549540a';
/** 203.0.113.7:50412 to 10.0.0.1:443. */
const V4 = 'cb007107' + '0a000001' + 'c4ec' + '01bb';
const V6 = '20010db8000000000000000000000007' + '20010db8000000000000000000000001' + 'c4ec' + '01bb';
const text = (value: string) => Buffer.from(value, 'latin1');
const binary = (...hex: string[]) => Buffer.from(SIGNATURE + hex.join(''), 'hex');

it.each([
  ['version 1, IPv4', text('PROXY TCP4 203.0.113.7 10.0.0.1 50412 443\r\n'), '203.0.113.7', 50_412],
  ['version 1, IPv6', text('PROXY TCP6 2001:DB8::7 2001:db8::1 50412 443\r\n'), '2001:db8::7', 50_412],
  ['version 1, mapped', text('PROXY TCP6 ::ffff:203.0.113.7 ::ffff:10.0.0.1 0 443\r\n'), '203.0.113.7', 0],
  ['version 2, IPv4', binary('21', '11', '000c', V4), '203.0.113.7', 50_412],
  ['version 2, IPv6', binary('21', '21', '0024', V6), '2001:db8::7', 50_412],
  ['version 2 with further fields', binary('21', '11', '0014', V4, '0300050102030405'), '203.0.113.7', 50_412],
])('a PROXY header %s, tells the client', (_, header, address, port) => {
  const read = { kind: 'read', bytes: header.length, source: { address, port } };
  expect(readProxyHeader(header)).toEqual(read);
  expect(readProxyHeader(Buffer.concat([header, text('GET / HTTP/1.1\r\n')]))).toEqual(read);
  for (let end = 0; end < header.length; end += 1) {
    expect(readProxyHeader(header.subarray(0, end)), `${end} bytes`).toEqual({ kind: 'incomplete' });
  }
});

it.each([
  ['version 1, UNKNOWN with addresses', text('PROXY UNKNOWN ffff:: ffff:: 1 2\r\n')],
  ['version 2, LOCAL with an address', binary('20', '11', '000c', V4)],
  ['version 2, unspecified', binary('21', '00', '0000')],
  ['version 2, a Unix socket', binary('21', '31', '00d8', '00'.repeat(216))],
])('a PROXY header %s, leaves the peer itself', (_, header) => {
  expect(readProxyHeader(header)).toEqual({ kind: 'read', bytes: header.length, source: undefined });
});

it.each([
  ['a name', 'PROXY TCP4 localhost 10.0.0.1 50412 443\r\n'],
  ['a port too large', 'PROXY TCP4 203.0.113.7 10.0.0.1 65536 443\r\n'],
  ['something behind', 'PROXY TCP4 203.0.113.7 10.0.0.1 50412 443 \r\n'],
  ['a line feed alone', 'PROXY TCP4 203.0.113.7 10.0.0.1 50412 443\nGET / HTTP/1.1\r\n'],
  ['108 bytes without an end', `PROXY ${'a'.repeat(102)}`],
  ['an end after 107 bytes', `PROXY UNKNOWN ${'a'.repeat(92)}\r\n`],
])('a PROXY header of version 1 is broken by %s', (_, header) => {
  expect(readProxyHeader(text(header))).toEqual({ kind: 'broken' });
});

it.each([
  ['version 3', binary('31', '11', '000c', V4)],
  ['an unknown family', binary('21', '41', '000c', V4)],
  ['too few bytes for its family', binary('21', '21', '000c', V4)],
  ['more than 4 KiB', binary('21', '11', 'ffff', V4)],
])('a PROXY header of version 2 is broken by %s', (_, header) => {
  expect(readProxyHeader(header)).toEqual({ kind: 'broken' });
});

it.each(['GET / HTTP/1.1\r\n', 'PROXX', '\r\n\r\nG', '\x16\x03\x01', 'proxy TCP4'])(
  'a PROXY header is missing before %j',
  (start) => {
    expect(readProxyHeader(text(start))).toEqual({ kind: 'missing' });
  },
);
