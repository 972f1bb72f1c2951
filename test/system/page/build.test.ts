/** The built live page: its size, and that its strict policy has nothing to block. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { Harness } from '../../support/page/stand.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../../dist/page');
const FILES = ['icon.svg', 'index.html', 'page.css', 'page.js'];
/** Names of vocabularies, and the example of `--upstream` in a sentence: never requested. */
const TEXTS = ['http://www.w3.org/', 'http://127.0.0.1:8080/'];
const MAX_COMPRESSED_BYTES = 150_000;

const read = (name: string) => readFileSync(path.join(FOLDER, name));

describe('the built live page', () => {
  it('is a few files, each also compressed, less than 150 KB compressed', () => {
    expect(readdirSync(FOLDER).sort()).toEqual(FILES.flatMap((name) => [name, `${name}.br`, `${name}.gz`]).sort());
    for (const name of FILES) {
      expect(brotliDecompressSync(read(`${name}.br`)).equals(read(name))).toBe(true);
      expect(gunzipSync(read(`${name}.gz`)).equals(read(name))).toBe(true);
    }
    const sizes = (['gz', 'br'] as const).map((ending) =>
      FILES.reduce((sum, name) => sum + read(`${name}.${ending}`).length, 0),
    );
    expect(Math.max(...sizes)).toBeLessThan(MAX_COMPRESSED_BYTES);
    expect(Math.min(...sizes)).toBeGreaterThan(1_000);
  });

  it('has no script and no style in its HTML, and nothing from other hosts', () => {
    const html = read('index.html').toString('utf8');
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<base|<form/i);
    expect([...html.matchAll(/<script([^>]*)>([^<]*)</g)].map((match) => match[2])).toEqual(['']);
    for (const name of FILES) {
      const addresses =
        read(name)
          .toString('utf8')
          .match(/\b(?:https?:)?\/\/[\w.-]+\.\w+[^\s"'`)]*/g) ?? [];
      expect([name, addresses.filter((address) => !TEXTS.some((text) => address.startsWith(text)))]).toEqual([
        name,
        [],
      ]);
    }
    expect(read('page.css').toString('utf8')).not.toMatch(/@import|url\(/);
    expect(read('page.js').toString('utf8')).not.toMatch(/\beval\(|new Function\(/);
  });

  it('is served with a policy that allows only the port itself', async () => {
    const harness = await Harness.start();
    try {
      const { statusCode, headers, body } = await request(harness.url);
      await body.dump();
      const policy = Object.fromEntries(
        String(headers['content-security-policy'])
          .split(';')
          .map((rule) => rule.trim().split(/ (.*)/).slice(0, 2)),
      );
      expect(statusCode).toBe(200);
      expect(policy).toMatchObject({
        'default-src': "'none'",
        'script-src': "'self'",
        'style-src': "'self'",
        'connect-src': "'self'",
        'frame-ancestors': "'none'",
      });
      expect(String(headers['content-security-policy'])).not.toMatch(/unsafe|\*|https?:/);
    } finally {
      await harness.stop();
    }
  });
});
