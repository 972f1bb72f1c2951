import { expect, it } from 'vitest';
import {
  forwardedFields,
  forwardedLines,
  replacedFields,
  withoutFields,
} from '../../../../src/protocol/http1/forwarded.ts';

const client = { remoteAddress: '10.0.0.7', secure: false };
const nothing = { host: 'app.example:8081', hasProto: false, hasHost: false };

it('forwarding fields append the client, its scheme and the host it asked for', () => {
  expect(forwardedFields('append', client, nothing)).toEqual([
    ['X-Forwarded-For', '10.0.0.7'],
    ['X-Forwarded-Proto', 'http'],
    ['X-Forwarded-Host', 'app.example:8081'],
  ]);
});

it('forwarding fields leave scheme and host of the edge alone when appending', () => {
  expect(forwardedFields('append', client, { ...nothing, hasProto: true, hasHost: true })).toEqual([
    ['X-Forwarded-For', '10.0.0.7'],
  ]);
});

it('forwarding fields are all three when replacing, whatever the client sent', () => {
  const own = { ...nothing, hasProto: true, hasHost: true };
  expect(forwardedFields('replace', { ...client, secure: true }, own)).toEqual([
    ['X-Forwarded-For', '10.0.0.7'],
    ['X-Forwarded-Proto', 'https'],
    ['X-Forwarded-Host', 'app.example:8081'],
  ]);
});

it('forwarding fields have no host for a request without one', () => {
  const names = forwardedFields('replace', client, { ...nothing, host: undefined }).map(([name]) => name);
  expect(names).toEqual(['X-Forwarded-For', 'X-Forwarded-Proto']);
});

it('forwarding fields are none when off', () => {
  expect(forwardedFields('off', client, nothing)).toEqual([]);
});

it.each([
  [false, false],
  [true, false],
  [false, true],
  [true, true],
])('forwarding fields are the same as lines (has proto %s, has host %s)', (hasProto, hasHost) => {
  const asFields = forwardedFields('append', client, { host: 'a', hasProto, hasHost });
  const lines = asFields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  expect(forwardedLines(client, 'a', hasProto, hasHost)).toBe(lines);
});

it('forwarding fields are removed from a head in any letter case, and nothing else is', () => {
  const head =
    'GET / HTTP/1.1\r\nHost: a\r\nx-forwarded-FOR: 1\r\nX-Forwarded-For: 2\r\nX-Forwarded-Port: 3\r\nX-FORWARDED-PROTO: h\r\nX-Forwarded-Host: b\r\n\r\n';
  expect(withoutFields(head, replacedFields('replace', 'off'))).toBe(
    'GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-Port: 3\r\n\r\n',
  );
});

it.each([
  ['10.0.0.7', '10.0.0.7'],
  ['2001:db8::1', '2001:db8::1'],
  ['fe80::1%eth0', 'fe80::1'],
])('the client’s address %s is told as %s', (address, told) => {
  const [fields] = forwardedFields('append', { remoteAddress: address, secure: false }, nothing);
  expect(fields).toEqual(['X-Forwarded-For', told]);
});
