import { readFileSync } from 'node:fs';
import { BUILD } from './build.ts';

/** More than the number of folders between package.json and any file here, bundled or not. */
const MOST_FOLDERS = 4;

/** E.g. `1.4.0`, from package.json. */
export function readVersion(): string {
  for (let folder = '..', depth = 0; depth < MOST_FOLDERS; depth += 1, folder += '/..') {
    const version = versionIn(new URL(`${folder}/package.json`, import.meta.url));
    if (version !== undefined) return version;
  }
  return 'unknown';
}

/** What `--version` prints, e.g. `1.4.0 (build 3f9c2a1b7d04, Node v26.9.0)`. */
export function describeVersion(): string {
  return `${readVersion()} (build ${BUILD}, Node ${process.version})`;
}

function versionIn(url: URL): string | undefined {
  try {
    const { name, version } = JSON.parse(readFileSync(url, 'utf8')) as { name?: unknown; version?: unknown };
    return name === 'd2-sidecar' && typeof version === 'string' ? version : undefined;
  } catch {
    return undefined;
  }
}
