import { expect, it } from 'vitest';
import { DeniedPaths } from '../../../../src/measure/classify/denied-paths.ts';

const OTHER = { remoteAddress: '192.0.2.7' };
const denied = DeniedPaths.of(['/manager', '/plant/Čistička/admin']) as DeniedPaths;

it.each([
  ...['/manager', '/manager/', '/manager/html', '/manager?a=/x', '/manager/html?%2e%2e'],
  ...['//manager', '/./manager', '/x/../manager', '/x/y/../../manager', '/../manager', '/manager/.'],
  ...['/%6danager', '/m%61n%61ger/html', '/manage%72', '/%2e/manager', '/x/%2E%2e/manager', '/x/.%2e/manager'],
  ...['/manager;a=b', '/manager;jsessionid=1/html', '/;a/manager', '/x/..;a/manager', '/x;a/..;b=c/manager;d'],
  ...['/;%2fb/manager', '/x%2f..%2fmanager', '/x%2fb/../manager', '/%2fmanager', '/manager%2fhtml'],
  ...['\\manager', '/x\\..\\manager', '/%5cmanager', '/x%5C..%5Cmanager', '/manager%3bx', '/manager\\html'],
  ...['/%ff/../manager', '/%zz/../%6danager', '/x/..%3b/manager', '/manager/../smartWeb', '//..//manager'],
  ...['http://a/manager', 'HTTP://a:8080/manager/html', 'http://manager/manager', 'http://a/x/../%6danager'],
  ...['https://u@a//manager', 'http:///manager', 'ws://a/manager', 'http://a\\manager', 'manager/html'],
  ...['/plant/%C4%8cisti%C4%8Dka/admin', '/plant//%c4%8Cisti%C4%8Dka;a/admin/x'],
  ...['/plant/\xc4\x8cisti\xc4\x8dka/admin', '/plant/x/../%C4%8Cisti%C4%8Dka/y/../admin'],
])('the check of denied paths denies %s', (target) => {
  expect(denied.denies(target, OTHER)).toBe(true);
});

it.each([
  ...['/', '*', '', '/managers', '/manager2/html', '/x/manager', '/Manager', '/MANAGER', '/smartWeb/manager'],
  ...['/smartWeb?a=/../manager', '/smartWeb/%20/manager', '/smartWeb;manager/x', '/smartWeb//manager', '/manager%20'],
  ...['/plant', '/plant/admin', '/plant/x/admin', 'http://manager/smartWeb', 'http://manager', '/%256danager'],
  ...['/admin/../plant', '/smartWeb/A..manager', '/smartWeb/a%2fmanagers'],
  '/smartWeb/api/rest/v0/d2/object/H.Tank%20manager',
])('the check of denied paths allows %s', (target) => {
  expect(denied.denies(target, OTHER)).toBe(false);
});

it.each(['127.0.0.1', '127.9.8.7', '::1'])('the check of denied paths allows everything to %s', (address) => {
  expect(denied.denies('/manager', { remoteAddress: address })).toBe(false);
  expect(denied.denies('/x/..%2fmanager', { remoteAddress: address })).toBe(false);
});

it('the check of denied paths denies /manager to all other addresses, and to loopback when only a proxy says so, unless nothing is denied', () => {
  const others = ['10.0.0.7', '128.0.0.1', '::ffff:10.127.0.1', 'fd00::1', '::', '2001:db8::127.0.0.1', ''];
  for (const remoteAddress of others) expect(denied.denies('/manager', { remoteAddress }), remoteAddress).toBe(true);
  expect(denied.denies('/manager', { remoteAddress: '127.0.0.1', viaProxy: 'field' })).toBe(true);
  expect(denied.denies('/manager', { remoteAddress: '::1', viaProxy: 'header' })).toBe(true);
  expect(DeniedPaths.of([])).toBeUndefined();
});

it('the check of denied paths reads an ambiguous path of 64 KiB to its end, and skips segments longer than any denied one', () => {
  const denied = DeniedPaths.of(['/manager', '/a/b']) as DeniedPaths;
  const denies = (target: string) => denied.denies(target, { remoteAddress: '192.0.2.7' });
  expect(denies(`/x${'%2f'.repeat(20_000)}manager`)).toBe(true);
  expect(denies(`/x${'%2F.'.repeat(20_000)}/..%2fa;x/%62`)).toBe(true);
  expect(denies(`${'/.'.repeat(20_000)}/%6danager`)).toBe(true);
  expect(denies(`/${'%6d'.repeat(20_000)}anager`)).toBe(false);
  expect(denies(`/x%2f${'m'.repeat(60_000)}anager`)).toBe(false);
});
