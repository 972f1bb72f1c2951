import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach } from 'vitest';

/** A folder of its own for each test; what it gives is the path of a name in it. */
export function useFolder(): (name: string) => string {
  let folder = '';
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'd2s-test-')));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  return (name) => path.join(folder, name);
}
