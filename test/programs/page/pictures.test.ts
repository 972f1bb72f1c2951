/** `npm run pictures` takes the pictures in docs/images of the demo; here of its first seconds, into a folder of the test. */
import { execFile, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { SAMPLE_BROWSERS, SAMPLE_OBJECTS, SAMPLE_RPCS, SAMPLE_SBAS } from '../../../src/demo/plant.ts';
import { temporaryFolder } from '../../support/deferred.ts';
import { type Chromium, describeInChromium } from '../../support/page/browser.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const IMAGES = path.join(ROOT, 'docs/images');
const SIZES = {
  'live-page-dark.png': '1440x940',
  'live-page-phone.png': '360x1280',
  'live-page.png': '1440x940',
};
const MAX_BYTES = 250_000;
const hasJava = spawnSync('java', ['-version']).status === 0;

type Rows = readonly (readonly string[])[];

type Shown = { readonly heap: string } & Readonly<Record<'calls' | 'binaries' | 'objects' | 'sessions', Rows>>;

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
function sum(rows: Rows, column: number): number {
  return rows.reduce((total, row) => total + Number(row[column]?.replace(/ \(.*\)$/, '')), 0);
}

it('the pictures in docs/images have the sizes that the script sets, and are small', () => {
  expect(sizesOf(IMAGES)).toEqual(SIZES);
  expect(readdirSync(IMAGES).filter((name) => statSync(path.join(IMAGES, name)).size > MAX_BYTES)).toEqual([]);
});

const tests = ({ defer }: Chromium) => {
  it.runIf(hasJava)('takes them of a page with users, calls, objects with values, and a JVM', async () => {
    const folder = temporaryFolder(defer);
    const script = path.join(ROOT, 'scripts/pictures.mjs');
    const { stdout } = await promisify(execFile)(process.execPath, [script, folder, '--seconds', '15']);
    expect(sizesOf(folder)).toEqual(SIZES);
    const { heap, calls, binaries, objects, sessions } = JSON.parse(stdout) as Shown;
    expect(heap).toMatch(/^[1-9][\d.]* \w+$/);
    // Some names may not have been called yet.
    expect(calls.length).toBeGreaterThan(SAMPLE_RPCS.length / 2);
    expect(binaries.length).toBeGreaterThan(SAMPLE_SBAS.length / 2);
    expect(objects.length).toBeGreaterThan(SAMPLE_OBJECTS.length / 2);
    // Calls, and errors.
    expect(sum(calls, 1)).toBeGreaterThan(20);
    expect(sum(calls, 5)).toBeGreaterThan(0);
    // Subscriptions, and received values.
    expect(sum(objects, 1)).toBeGreaterThanOrEqual(SAMPLE_BROWSERS.length);
    expect(sum(objects, 2)).toBeGreaterThan(SAMPLE_BROWSERS.length);
    const users = sessions.map(([user]) => user);
    expect(users).toEqual(expect.arrayContaining(['historian', ...SAMPLE_BROWSERS.map(({ user }) => user)]));
    const connections = new Set(sessions.map(([, connection]) => connection));
    expect(connections).toEqual(new Set(['REST', 'Comet, WebSocket', 'Comet, long-polling']));
  });
};

describeInChromium('the script of the pictures', tests, 120_000);
