/**
 * Files that belong to the program: inside the single executable, otherwise in the folder of its package. Their names
 * are paths in that folder, e.g. `dist/page/page.js`.
 */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { getAsset, isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';
import { attempt } from './attempt.ts';

/** Upper bound on the folders between package.json and this file, bundled or not. */
const MAX_DEPTH = 4;

/** Throws if there is no such file. */
export function readProgramFile(name: string): Buffer {
  return isSea() ? Buffer.from(getAsset(name)) : readFileSync(locate(name));
}

/** Like readProgramFile, without blocking for a disk. */
export async function loadProgramFile(name: string): Promise<Buffer> {
  return isSea() ? Buffer.from(getAsset(name)) : await readFile(locate(name));
}

/** The first folder above this file whose package.json is ours: the program may lie in the folder of another one. */
function locate(name: string): string {
  for (let depth = 1; depth <= MAX_DEPTH; depth += 1) {
    const folder = new URL('../'.repeat(depth), import.meta.url);
    const manifest = attempt(() => JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')));
    if (manifest?.name === 'd2-sidecar') return fileURLToPath(new URL(name, folder));
  }
  throw new Error('the package.json of d2-sidecar is missing');
}
