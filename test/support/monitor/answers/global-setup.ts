/** Before all tests, and after them: where answers are written down, and how many were checked. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Tells tests the folder in which each file of them gets one of its own. */
export const FOLDER_VARIABLE = 'D2S_ANSWERS_ROOT';
/** In it: a line for each file of tests with the number of answers. */
export const COUNTS_FILE = 'counts';

/** Vitest calls it once for each project; the first call counts for all. */
export function setup(): (() => void) | undefined {
  if (process.env[FOLDER_VARIABLE] !== undefined) return undefined;
  const root = mkdtempSync(path.join(tmpdir(), 'd2s-answers-'));
  process.env[FOLDER_VARIABLE] = root;
  return () => {
    const counts = path.join(root, COUNTS_FILE);
    const lines = existsSync(counts) ? readFileSync(counts, 'utf8').trim().split('\n').map(Number) : [];
    const count = lines.reduce((sum, value) => sum + value, 0);
    console.log(`${count} answers of monitoring ports were checked against the OpenAPI document`);
    rmSync(root, { recursive: true, force: true });
  };
}
