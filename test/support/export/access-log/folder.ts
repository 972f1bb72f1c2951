import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach } from 'vitest';

/** A folder for each test. Returns the path of a name in it. */
export function useFolder(): (name: string) => string {
  let folder = '';
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'd2s-test-')));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  return (name) => path.join(folder, name);
}
