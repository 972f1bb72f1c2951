/** The live page as built: found beside the program, complete, small, and with nothing that its policy blocks. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { deferTo } from '../support/deferred.ts';
import { type Answer, portOf, send } from '../support/net.ts';
import { startSidecarBefore } from '../support/sidecar-process.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../dist/page');
const FILES = ['icon.svg', 'index.html', 'page.css', 'page.js'];
/** Names of vocabularies, and the example of `--upstream` in a sentence: never requested. */
const TEXTS = ['http://www.w3.org/', 'http://127.0.0.1:8080/'];

const sidecar = await startSidecarBefore(1, {}, [], deferTo(afterAll));

const read = (name: string) => readFileSync(path.join(FOLDER, name));
const textOf = (name: string) => read(name).toString('utf8');

function ask(target: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return send(portOf(sidecar.monitor), target, { headers });
}

/** Files that the page refers to, e.g. `page/page.js`. */
async function references(): Promise<readonly string[]> {
  const { body } = await ask('/');
  return [...body.matchAll(/(?:src|href)="([^"]*)"/g)].map((match) => match[1] as string);
}

describe('the built page', () => {
  it('is a few files, each also compressed', () => {
    expect(readdirSync(FOLDER).sort()).toEqual(FILES.flatMap((name) => [name, `${name}.br`, `${name}.gz`]).sort());
    for (const name of FILES) {
      expect(brotliDecompressSync(read(`${name}.br`)).equals(read(name))).toBe(true);
      expect(gunzipSync(read(`${name}.gz`)).equals(read(name))).toBe(true);
    }
  });

  it('refers only to its own files, all of which exist', async () => {
    const files = await references();
    expect(files).toEqual(expect.arrayContaining(['page/page.js', 'page/page.css', 'page/icon.svg']));
    for (const file of files) {
      expect(file).toMatch(/^page\/[\w.-]+$/);
      expect([file, (await ask(`/${file}`)).status]).toEqual([file, 200]);
    }
  });

  it('has no script and no style in its HTML, and nothing from other hosts', () => {
    const html = textOf('index.html');
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:|<base|<form/i);
    expect([...html.matchAll(/<script([^>]*)>([^<]*)</g)].map((match) => match[2])).toEqual(['']);
    for (const name of FILES) {
      const addresses = textOf(name).match(/\b(?:https?:)?\/\/[\w.-]+\.\w+[^\s"'`)]*/g) ?? [];
      const others = addresses.filter((address) => !TEXTS.some((text) => address.startsWith(text)));
      expect([name, others]).toEqual([name, []]);
    }
    expect(textOf('page.css')).not.toMatch(/@import|url\(/);
    expect(textOf('page.js')).not.toMatch(/\beval\(|new Function\(/);
  });

  it('is below 150 KB in gzip, all files together', async () => {
    let bytes = 0;
    for (const file of ['', ...(await references())]) {
      const { headers } = await ask(`/${file}`, { 'accept-encoding': 'gzip' });
      expect([file, headers['content-encoding']]).toEqual([file, 'gzip']);
      bytes += Number(headers['content-length']);
    }
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(150_000);
  });
});
