import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parseAddress } from '../../../../src/jvm/http/address.ts';

function refusalOf(url: string): unknown {
  try {
    return parseAddress(url, '/manager');
  } catch (cause) {
    return cause;
  }
}

describe('parseAddress', () => {
  it.each([
    ['http://127.0.0.1:8080', { origin: 'http://127.0.0.1:8080', basePath: '/manager', query: '' }],
    ['http://127.0.0.1:8080/ops/manager/', { origin: 'http://127.0.0.1:8080', basePath: '/ops/manager', query: '' }],
    ['https://[::1]:8443/', { origin: 'https://[::1]:8443', basePath: '/manager', query: '' }],
  ])('reads %s', (url, address) => {
    expect(parseAddress(url, '/manager')).toEqual(address);
  });

  it('accepts a query only for a source without its own', () => {
    expect(parseAddress('http://h:1/m?name[]=a', '/metrics', true).query).toBe('?name[]=a');
  });

  it.each([
    'http://planted:planted@h:1/',
    'ftp://h/planted',
    'planted',
    'http://h:1/?planted=1',
    'http://h:1/#planted',
  ])('refuses %s without repeating it', (url) => {
    const refusal = refusalOf(url);
    expect(refusal).toMatchObject({ code: 'D2S_ERR_CONFIG', message: expect.stringContaining('jvm.http.url') });
    expect(inspect(refusal).replace(/\n {4}at [\s\S]*/, '')).not.toContain('planted');
  });
});
