/** The files of the live page: how they are found and sent. The tests of the page cover their content. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, expect, it } from 'vitest';
import { openPageFolder } from '../../../../src/monitor/live/page-routes.ts';
import { negotiateCoding } from '../../../../src/monitor/negotiate.ts';
import { SECURITY_FIELDS } from '../../../../src/monitor/send.ts';
import { Folder } from '../../../support/monitor/access/access-files.ts';
import { openMonitor } from '../../../support/monitor/open-monitor.ts';
import { createPlant } from '../../../support/monitor/prometheus/plant.ts';
import { type Answer, send } from '../../../support/net.ts';

const HTML = '<!doctype html><title>d2-sidecar</title>';
const SCRIPT = 'export const answer = 42;';

const plant = await createPlant();
const folder = new Folder();
for (const [name, content] of Object.entries({
  'index.html': HTML,
  'page.js': SCRIPT,
  'page.js.gz': gzipSync(SCRIPT),
  'page.js.br': 'brotli of the script',
  'page.css': 'body { margin: 0 }',
  'icon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  'notes.txt': 'not served',
  'page.js.map': 'not served',
})) {
  folder.write(name, content as string);
}
const openPage = (place: string) =>
  openMonitor(plant.monitored, { page: openPageFolder((name) => readFile(path.join(place, name))) });
const monitor = await openPage(folder.path);

afterAll(async () => {
  await monitor.close();
  folder.remove();
});

/** Without fetch, which asks for codings, decodes them and shortens paths. */
function ask(target: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  return send(monitor.port, target, { method, headers });
}

it('the page is served at the root, with its own policy and all other security fields', async () => {
  const { status, headers, body } = await ask('/');
  expect([status, body]).toEqual([200, HTML]);
  expect(headers).toMatchObject({
    ...SECURITY_FIELDS,
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'cache-control': 'no-cache',
    vary: 'accept-encoding',
  });
});

it.each([
  ['page.js', 'text/javascript; charset=utf-8', ''],
  ['icon.svg', 'image/svg+xml', ''],
  // Without compressed files.
  ['page.css', 'text/css; charset=utf-8', 'br, gzip'],
])('the page has the file %s under /page/ as %s', async (file, type, accepted) => {
  const { status, headers } = await ask(`/page/${file}`, { 'accept-encoding': accepted });
  expect([status, headers['content-type'], headers['content-encoding']]).toEqual([200, type, undefined]);
  // A file opened alone is data.
  expect(headers).toMatchObject({ ...SECURITY_FIELDS, 'cache-control': 'no-cache' });
});

it.each([
  ...['/page/index.html', '/page/notes.txt', '/page/page.js.gz', '/page/page.js.map', '/page/more', '/page/'],
  ...['/page/..%2fpage.js', '/page/%2e%2e', '/page/constructor', '/page/nowhere.js', '/page/page.js/more'],
])('the page has nothing at %s', async (target) => {
  const { status, body } = await ask(target);
  expect(status).toBe(404);
  expect(body).not.toContain(folder.path);
});

it.each([
  ['br', 'gzip, deflate, br, zstd', 'brotli of the script'],
  ['gzip', 'gzip', SCRIPT],
  [undefined, 'br;q=0, gzip;q=0', SCRIPT],
])('the page is sent as %s to who accepts %s', async (coding, accepted, text) => {
  const { headers, bytes } = await ask('/page/page.js', { 'accept-encoding': accepted });
  expect(headers['content-encoding']).toBe(coding);
  expect((coding === 'gzip' ? gunzipSync(bytes) : bytes).toString()).toBe(text);
  expect(headers['content-length']).toBe(String(bytes.length));
});

it('the page is not sent again to a client that has it, with a tag for each coding', async () => {
  const tags = new Set([(await ask('/page/page.css')).headers.etag]);
  for (const accepted of ['br', 'gzip', 'identity']) {
    const fields = { 'accept-encoding': accepted };
    const { etag = '' } = (await ask('/page/page.js', fields)).headers;
    tags.add(etag);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const { status, headers, body } = await ask('/page/page.js', { ...fields, 'if-none-match': known });
      expect([known, status, headers.etag, body]).toEqual([known, 304, etag, '']);
      expect(headers).toMatchObject({ 'cache-control': 'no-cache', vary: 'accept-encoding' });
    }
    expect((await ask('/page/page.js', { ...fields, 'if-none-match': '"other"' })).status).toBe(200);
  }
  expect(tags.size).toBe(4);
});

it('the page is answered with 503 and advice until it is built, and then stays as it was at the first request', async () => {
  const late = new Folder();
  const { port, close } = await openPage(late.path);
  late.write('index.html', HTML);
  for (const target of ['/', '/page/page.js', '/page/nowhere.js']) {
    const { status, headers, body } = await send(port, target);
    expect([target, status, headers['content-type']]).toEqual([target, 503, 'application/problem+json']);
    expect(JSON.parse(body).detail).toContain('npm run build');
    expect(body).not.toContain(late.path);
    expect(headers).toMatchObject(SECURITY_FIELDS);
  }
  late.write('page.js', SCRIPT);
  late.write('page.css', '');
  late.write('icon.svg', '');
  expect((await send(port, '/')).status).toBe(200);
  late.remove();
  expect((await send(port, '/page/page.js')).body).toBe(SCRIPT);
  await close();
});

it.each([
  [undefined, undefined],
  ['GZIP', 'gzip'],
  ['gzip;q=1.0, br;q=0.5', 'gzip'],
  ['*;q=0.1, br;q=0', 'gzip'],
  ['br;q=2, gzip', 'gzip'],
  [' br ; q=0.001 ', 'br'],
  [', ,', undefined],
])('the coding for %j is %j', (field, coding) => {
  expect(negotiateCoding(field)).toBe(coding);
});
