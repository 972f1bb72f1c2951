import { expect, it } from 'vitest';
import { hideUrlSecrets, parseUpstreamUrl } from '../../../src/config/upstream-url.ts';

it.each([
  ['http://10.0.0.1:8080/web', { host: '10.0.0.1', port: 8080, baseUrl: 'http://10.0.0.1:8080', application: 'web' }],
  ['http://plant', { host: 'plant', port: 80, baseUrl: 'http://plant', application: undefined }],
  ['HTTP://Plant:80/', { host: 'plant', port: 80, baseUrl: 'http://plant', application: undefined }],
  ['http://[::1]:8080//a//', { host: '::1', port: 8080, baseUrl: 'http://[::1]:8080', application: 'a' }],
  ['https://plant/web', { host: 'plant', port: 443, baseUrl: 'https://plant', application: 'web', isSecure: true }],
  ['HTTPS://plant:8443', { host: 'plant', port: 8443, baseUrl: 'https://plant:8443', isSecure: true }],
  ['http://plant/smart%20Web', { host: 'plant', port: 80, baseUrl: 'http://plant', application: 'smart%20Web' }],
])('parseUpstreamUrl reads %s', (text, value) => {
  expect(parseUpstreamUrl(text)).toEqual({ kind: 'ok', value: { isSecure: false, ...value } });
});

it.each([
  ...['', 'plant', 'http:plant', 'http:///a', 'http:\\\\plant', 'ftp://plant', 'https:plant'],
  ...['httpss://plant', 'http://pl ant', 'http://plant\t', 'http://[::1', 'http://a b/', 'http://plant/a//b'],
])('parseUpstreamUrl refuses %j', (text) => {
  expect(parseUpstreamUrl(text).kind).toBe('bad');
});

it.each([
  ['http://plant/a', 'http://plant/a'],
  ['http://u:p@plant/a?q#f', 'http://[hidden]@plant/a?[hidden]'],
  ['http://u:p?x/@y@plant', 'http://[hidden]@plant'],
  ['u:p@plant:80', '[hidden]@plant:80'],
  ['plant?token=p', 'plant?[hidden]'],
  ['http://plant/#p', 'http://plant/#[hidden]'],
])('hideUrlSecrets shows %s as %s', (text, shown) => {
  expect(hideUrlSecrets(text)).toBe(shown);
});
