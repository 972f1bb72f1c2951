/** Paths, whether this runs as source or compiled. */
import { existsSync } from 'node:fs';
import path from 'node:path';

/** The folder of package.json. */
export const ROOT_FOLDER = findRoot(import.meta.dirname);

/** This folder as source, for files that are not compiled. */
export const SOURCE_FOLDER = path.join(ROOT_FOLDER, 'test/bench/load');

function findRoot(folder: string): string {
  if (existsSync(path.join(folder, 'package.json'))) return folder;
  const parent = path.dirname(folder);
  if (parent === folder) throw new Error('package.json is in no folder above');
  return findRoot(parent);
}
