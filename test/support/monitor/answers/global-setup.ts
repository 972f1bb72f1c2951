/** Before all tests: creates the folder for recorded answers. After all tests: prints how many were checked. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** The variable with the folder in which each test file gets its own. */
export const FOLDER_VARIABLE = 'D2S_ANSWERS_ROOT';
/** A file in it: one line per test file, with the number of answers. */
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
