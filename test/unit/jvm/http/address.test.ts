import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { parseAddress } from '../../../../src/jvm/http/address.ts';

it.each([
  ['http://127.0.0.1:8080', { origin: 'http://127.0.0.1:8080', basePath: '/manager', query: '' }],
  ['http://127.0.0.1:8080/ops/manager/', { origin: 'http://127.0.0.1:8080', basePath: '/ops/manager', query: '' }],
  ['https://[::1]:8443/', { origin: 'https://[::1]:8443', basePath: '/manager', query: '' }],
])('the address %s is read', (url, address) => {
  expect(parseAddress(url, '/manager')).toEqual(address);
});

it('an address may have a query only for a source without its own', () => {
  expect(parseAddress('http://h:1/m?name[]=a', '/metrics', true).query).toBe('?name[]=a');
});

it.each(['http://planted:planted@h:1/', 'ftp://h/planted', 'planted', 'http://h:1/?planted=1', 'http://h:1/#planted'])(
  'the address %s is refused without being repeated',
  (url) => {
    let refusal: unknown;
    try {
      parseAddress(url, '/manager');
    } catch (cause) {
      refusal = cause;
    }
    expect(refusal).toMatchObject({ code: 'D2S_ERR_CONFIG', message: expect.stringContaining('jvm.http.url') });
    expect(inspect(refusal).replace(/\n {4}at [\s\S]*/, '')).not.toContain('planted');
  },
);
