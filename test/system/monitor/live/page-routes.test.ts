/** The files of the live page: how they are found and sent. What is in them is tested with the page. */
import { mkdirSync, rmSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '../../../../src/base/logger.ts';
import { negotiateCoding } from '../../../../src/monitor/accept-encoding.ts';
import { Guard } from '../../../../src/monitor/guard.ts';
import { HostCheck } from '../../../../src/monitor/host-check.ts';
import { defaultFolders, PageFolder } from '../../../../src/monitor/live/page-files.ts';
import { Monitor } from '../../../../src/monitor/monitor.ts';
import { SECURITY_FIELDS } from '../../../../src/monitor/send.ts';
import { Folder } from '../../../support/monitor/access/access-files.ts';
import { createPlant } from '../../../support/monitor/prometheus/plant.ts';

const HTML = '<!doctype html><title>d2-sidecar</title>';
const SCRIPT = 'export const answer = 42;';

const plant = await createPlant();
const folder = new Folder();
const empty = new Folder();

function write(name: string, text: string | Buffer): void {
  folder.write(name, text as string);
}

write('index.html', HTML);
write('page.js', SCRIPT);
write('page.js.gz', gzipSync(SCRIPT));
write('page.js.br', 'brotli of the script');
write('page.css', 'body { margin: 0 }');
write('icon.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>');
write('notes.txt', 'not served');
write('page.js.map', 'not served');
mkdirSync(path.join(folder.path, 'more'));

function monitorOf(page: PageFolder): Monitor {
  const health = { isStarted: true, isReady: () => Promise.resolve(true) };
  const options = { windowMs: 300_000, durationUnit: 'seconds', page } as const;
  const guard = new Guard({ access: undefined, hosts: new HostCheck([]) });
  return new Monitor({ ...plant.monitored, health }, options, guard, createLogger('silent'));
}

const monitor = monitorOf(new PageFolder([empty.path, folder.path]));
let port = 0;

beforeAll(async () => {
  port = (await monitor.listen({ host: '127.0.0.1', port: 0 })).port;
});

afterAll(async () => {
  await monitor.close();
  plant.statistics.destroy();
  for (const made of [folder, empty]) made.remove();
});

interface Answer {
  readonly status: number | undefined;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Without fetch, which asks for codings, decodes them and shortens paths. */
function ask(target: string, headers: http.OutgoingHttpHeaders = {}, method = 'GET', at = port): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port: at, path: target, method, headers, agent: false });
    request.on('error', reject);
    request.on('response', async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) });
    });
    request.end();
  });
}

describe('the page', () => {
  it('is served at the root, with its own policy and all other security fields', async () => {
    const { status, headers, body } = await ask('/');
    expect([status, body.toString()]).toEqual([200, HTML]);
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

  it('has its files under /page/, with their media types', async () => {
    for (const [file, type] of [
      ['page.js', 'text/javascript; charset=utf-8'],
      ['page.css', 'text/css; charset=utf-8'],
      ['icon.svg', 'image/svg+xml'],
    ] as const) {
      const { status, headers } = await ask(`/page/${file}`);
      expect([file, status, headers['content-type']]).toEqual([file, 200, type]);
      // Whoever opens one of them alone gets data.
      expect(headers).toMatchObject({ ...SECURITY_FIELDS, 'cache-control': 'no-cache' });
    }
  });

  it.each([
    '/page/index.html',
    '/page/notes.txt',
    '/page/page.js.gz',
    '/page/page.js.map',
    '/page/more',
    '/page/nowhere.js',
    '/page/..%2fpage.js',
    '/page/%2e%2e',
    '/page/constructor',
    '/page/',
    '/page',
    '/page/page.js/more',
  ])('has nothing at %s', async (target) => {
    const { status, headers, body } = await ask(target);
    expect([status, headers['content-type']]).toEqual([404, 'application/problem+json']);
    expect(body.toString()).not.toContain(folder.path);
  });

  it.each([
    ['br', 'gzip, deflate, br, zstd', 'brotli of the script'],
    ['gzip', 'gzip', SCRIPT],
    [undefined, 'identity', SCRIPT],
    [undefined, 'br;q=0, gzip;q=0', SCRIPT],
  ])('is sent as %s to who accepts %s', async (coding, accepted, text) => {
    const { headers, body } = await ask('/page/page.js', { 'accept-encoding': accepted });
    expect(headers['content-encoding']).toBe(coding);
    expect((coding === 'gzip' ? gunzipSync(body) : body).toString()).toBe(text);
    expect(headers['content-length']).toBe(String(body.length));
  });

  it('is sent plain if the build has no compressed files', async () => {
    const { headers, body } = await ask('/page/page.css', { 'accept-encoding': 'br, gzip' });
    expect([headers['content-encoding'], body.toString()]).toEqual([undefined, 'body { margin: 0 }']);
  });

  it('is not sent again to a client that has it, with a tag for each coding', async () => {
    const tags = new Set<string>();
    for (const accepted of ['br', 'gzip', 'identity']) {
      const etag = (await ask('/page/page.js', { 'accept-encoding': accepted })).headers.etag ?? '';
      tags.add(etag);
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const again = await ask('/page/page.js', { 'accept-encoding': accepted, 'if-none-match': known });
        expect([known, again.status, again.headers.etag, again.body.length]).toEqual([known, 304, etag, 0]);
        expect(again.headers).toMatchObject({ 'cache-control': 'no-cache', vary: 'accept-encoding' });
      }
      const other = await ask('/page/page.js', { 'accept-encoding': accepted, 'if-none-match': '"other"' });
      expect(other.status).toBe(200);
    }
    expect(tags.size).toBe(3);
    expect((await ask('/')).headers.etag).not.toBe((await ask('/page/page.css')).headers.etag);
  });

  it('answers HEAD with the fields and without content', async () => {
    for (const target of ['/', '/page/page.js']) {
      const { headers: asked } = await ask(target);
      const { status, headers, body } = await ask(target, {}, 'HEAD');
      expect([target, status, body.length]).toEqual([target, 200, 0]);
      expect({ ...headers, date: '' }).toEqual({ ...asked, date: '' });
    }
  });

  it('accepts only GET and HEAD', async () => {
    for (const target of ['/', '/page/page.js']) {
      const { status, headers } = await ask(target, {}, 'POST');
      expect([status, headers.allow]).toEqual([405, 'GET, HEAD']);
    }
  });

  it('stays as it was at the first request', async () => {
    const copy = new Folder();
    for (const name of ['index.html', 'page.js', 'page.css']) copy.write(name, name);
    const other = monitorOf(new PageFolder([copy.path]));
    const { port: at } = await other.listen({ host: '127.0.0.1', port: 0 });
    await ask('/', {}, 'GET', at);
    copy.remove();
    expect((await ask('/page/page.js', {}, 'GET', at)).body.toString()).toBe('page.js');
    await other.close();
  });
});

describe('without a built page', () => {
  it('gets 503 with advice until it is built', async () => {
    const late = new Folder();
    const other = monitorOf(new PageFolder([path.join(late.path, 'nowhere'), late.path]));
    const { port: at } = await other.listen({ host: '127.0.0.1', port: 0 });
    late.write('index.html', HTML);
    for (const target of ['/', '/page/page.js', '/page/nowhere.js']) {
      const { status, headers, body } = await ask(target, {}, 'GET', at);
      expect([target, status, headers['content-type']]).toEqual([target, 503, 'application/problem+json']);
      expect(JSON.parse(body.toString()).detail).toContain('npm run build');
      expect(body.toString()).not.toContain(late.path);
      expect(headers).toMatchObject(SECURITY_FIELDS);
    }
    late.write('page.js', SCRIPT);
    late.write('page.css', '');
    expect((await ask('/', {}, 'GET', at)).status).toBe(200);
    await other.close();
    late.remove();
  });

  it('is searched beside the program, beside its chunks, and in the build folder, but not among the sources', async () => {
    const root = path.resolve(import.meta.dirname, '../../../..');
    expect(defaultFolders().map((one) => path.relative(root, one))).toEqual([
      'src/monitor/live/page',
      'src/monitor/page',
      'dist/page',
    ]);
    const sources = new Folder();
    sources.write('index.html', HTML);
    sources.write('main.tsx', '');
    expect(await new PageFolder([sources.path]).files()).toBeUndefined();
    rmSync(sources.path, { recursive: true });
  });
});

describe('a coding', () => {
  it.each([
    [undefined, undefined],
    ['', undefined],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['gzip, br', 'br'],
    ['gzip;q=1.0, br;q=0.5', 'gzip'],
    ['gzip;q=0.5, br;q=0.5', 'br'],
    ['br;q=0', undefined],
    ['*', 'br'],
    ['*;q=0.1, br;q=0', 'gzip'],
    ['deflate, zstd', undefined],
    ['br;q=2, gzip', 'gzip'],
    ['br;q=x', undefined],
    [' br ; q=0.001 ', 'br'],
    [', ,', undefined],
  ])('for %j is %j', (field, coding) => {
    expect(negotiateCoding(field)).toBe(coding);
  });

  it('is one of those that exist', () => {
    expect(negotiateCoding('br, gzip', ['gzip'])).toBe('gzip');
    expect(negotiateCoding('br', [])).toBeUndefined();
  });
});
