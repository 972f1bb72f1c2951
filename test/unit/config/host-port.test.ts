import { expect, it } from 'vitest';
import { formatHostPort, isLoopback, isSamePlace, isServedBy, parseHostPort } from '../../../src/config/host-port.ts';

const toRefused = (text: string): [string, undefined] => [text, undefined];

it.each([
  ['0.0.0.0:8081', { host: '0.0.0.0', port: 8081 }],
  ['plant.example:80', { host: 'plant.example', port: 80 }],
  [':8081', { port: 8081 }],
  ['8081', { port: 8081 }],
  ['0', { port: 0 }],
  ['[::1]:8081', { host: '::1', port: 8081 }],
  ['[::ffff:127.0.0.1]:65535', { host: '::ffff:127.0.0.1', port: 65_535 }],
  ...['', ':', 'host', 'host:', '::1:8081', '[::1]', '[host]:80', '[::1:80', 'a b:80'].map(toRefused),
  ...['h:65536', 'h:-1', 'h:8081/', 'http://h:80', 'u@h:80'].map(toRefused),
])('parseHostPort reads %j as %j', (text, expected) => {
  expect(parseHostPort(text)).toEqual(expected);
});

it('formatHostPort puts an IPv6 address in brackets', () => {
  expect(formatHostPort({ host: '::1', port: 80 })).toBe('[::1]:80');
  expect(formatHostPort({ host: '10.0.0.1', port: 80 })).toBe('10.0.0.1:80');
});

it.each([
  ...['127.0.0.1', '127.255.255.254', '::1', '0:0:0:0:0:0:0:1', 'LocalHost', '::ffff:127.0.0.1'].map((host) => [
    host,
    true,
  ]),
  ...['0.0.0.0', '::', '128.0.0.1', '::ffff:10.0.0.1', 'fe80::1', 'localhost.example'].map((host) => [host, false]),
] as [string, boolean][])('%s is loopback: %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});

const at = (host: string, port = 8081) => ({ host, port });

it.each([
  ['127.0.0.1', '0.0.0.0', true],
  ['localhost', '127.0.0.1', true],
  ['127.0.0.1', '127.0.0.2', false],
  ['10.0.0.1', '0.0.0.0', false],
  ['10.0.0.1', '10.0.0.1', true],
])('an upstream at %s is served by a listener on %s: %s', (upstream, listener, expected) => {
  expect(isServedBy(at(upstream), at(listener))).toBe(expected);
  expect(isServedBy(at(upstream, 8082), at(listener))).toBe(false);
});

it.each([
  ['127.0.0.1', '0.0.0.0', true],
  ['10.0.0.1', '::', true],
  ['127.0.0.1', '10.0.0.1', false],
])('listeners on %s and %s are in each other’s way: %s', (one, other, expected) => {
  expect(isSamePlace(at(one), at(other))).toBe(expected);
  expect(isSamePlace(at(one, 0), at(other, 0))).toBe(false);
});
