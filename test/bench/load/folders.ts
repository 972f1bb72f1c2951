/** Paths, whether this runs as source or compiled: dist-bench, dist-chaos and dist-abuse have the same folders as test. */
import path from 'node:path';

export const ROOT_FOLDER = path.resolve(import.meta.dirname, '../../..');

/** This folder as source, for files that are not compiled. */
export const SOURCE_FOLDER = path.join(ROOT_FOLDER, 'test/bench/load');
