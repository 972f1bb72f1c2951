import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach } from 'vitest';

/** A folder of its own for each test; what it gives is the path of a name in it. */
export function useFolder(): (name: string) => string {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'd2-access-log-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  return (name) => path.join(folder, name);
}
