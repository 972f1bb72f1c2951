/**
 * Files that belong to the program: inside the single executable, otherwise in the folder of its package. Their names
 * are paths in that folder, e.g. `dist/page/page.js`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { getAsset, isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';

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

function locate(name: string): string {
  let up = '../';
  for (let depth = 1; depth < MAX_DEPTH && !existsSync(new URL(`${up}package.json`, import.meta.url)); depth += 1)
    up += '../';
  return fileURLToPath(new URL(up + name, import.meta.url));
}
