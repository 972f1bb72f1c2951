/**
 * The pictures in docs/images come from `npm run pictures`, which takes them of the demo. This test takes them of the demo's first seconds,
 * into a folder of its own.
 */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { SAMPLE_BROWSERS, SAMPLE_OBJECTS, SAMPLE_RPCS, SAMPLE_SBAS } from '../../../src/demo/plant.ts';
import { describeInChromium } from './browser.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const IMAGES = path.join(ROOT, 'docs/images');
const SIZES = {
  'live-page-dark.png': '1440x940',
  'live-page-phone.png': '360x1280',
  'live-page.png': '1440x940',
};
const MAX_BYTES = 250_000;
const hasJava = spawnSync('java', ['-version']).status === 0;

/** The script's output: the texts of all cells, by row. */
interface Shown {
  readonly heap: string;
  readonly calls: readonly (readonly string[])[];
  readonly binaries: readonly (readonly string[])[];
  readonly objects: readonly (readonly string[])[];
  readonly sessions: readonly (readonly string[])[];
}

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Width and height from the first chunk (PNG, section 11.2.2). */
function sizesOf(folder: string): Record<string, string> {
  const sizes = readdirSync(folder).map((name) => {
    const bytes = readFileSync(path.join(folder, name));
    expect(bytes.subarray(1, 4).toString('latin1')).toBe('PNG');
    return [name, `${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`] as const;
  });
  return Object.fromEntries(sizes);
}

/** A share may follow the number: `12 (3.4 %)`. */
function sum(rows: readonly (readonly string[])[], column: number): number {
  return rows.reduce((total, row) => total + Number(row[column]?.replace(/ \(.*\)$/, '')), 0);
}

describe('the pictures in docs/images', () => {
  it('have the sizes that the script sets, and are small', () => {
    expect(sizesOf(IMAGES)).toEqual(SIZES);
    const large = readdirSync(IMAGES).filter((name) => statSync(path.join(IMAGES, name)).size > MAX_BYTES);
    expect(large).toEqual([]);
  });

  it('are shown by README.md and docs/live-page.md, which says how to take them', () => {
    const livePage = readFileSync(path.join(ROOT, 'docs/live-page.md'), 'utf8');
    expect(readFileSync(path.join(ROOT, 'README.md'), 'utf8')).toContain('](docs/images/live-page.png)');
    for (const name of Object.keys(SIZES)) expect(livePage).toContain(`](images/${name})`);
    expect(livePage).toContain('`npm run pictures`');
    const { scripts } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    expect(scripts.pictures).toMatch(/ node scripts\/pictures\.mjs$/);
  });
});

describeInChromium(
  'the script of the pictures',
  () => {
    it.runIf(hasJava)('takes them of a page with users, calls, objects with values, and a JVM', async () => {
      const folder = mkdtempSync(path.join(tmpdir(), 'd2s-pictures-'));
      folders.push(folder);
      const script = path.join(ROOT, 'scripts/pictures.mjs');
      const { stdout } = await promisify(execFile)(process.execPath, [script, folder, '--seconds', '15']);
      expect(sizesOf(folder)).toEqual(SIZES);
      const shown = JSON.parse(stdout) as Shown;
      expect(shown.heap).toMatch(/^[1-9][\d.]* \w+$/);
      // Some names may not have been called yet.
      expect(shown.calls.length).toBeGreaterThan(SAMPLE_RPCS.length / 2);
      expect(shown.binaries.length).toBeGreaterThan(SAMPLE_SBAS.length / 2);
      // Calls, and errors.
      expect(sum(shown.calls, 1)).toBeGreaterThan(20);
      expect(sum(shown.calls, 5)).toBeGreaterThan(0);
      expect(shown.objects.length).toBeGreaterThan(SAMPLE_OBJECTS.length / 2);
      // Subscriptions, and received values.
      expect(sum(shown.objects, 1)).toBeGreaterThanOrEqual(SAMPLE_BROWSERS.length);
      expect(sum(shown.objects, 2)).toBeGreaterThan(SAMPLE_BROWSERS.length);
      const users = shown.sessions.map(([user]) => user);
      expect(users).toEqual(expect.arrayContaining(['historian', ...SAMPLE_BROWSERS.map(({ user }) => user)]));
      const connections = new Set(shown.sessions.map(([, connection]) => connection));
      expect(connections).toEqual(new Set(['REST', 'Comet, WebSocket', 'Comet, long-polling']));
    });
  },
  { timeout: 120_000 },
);
