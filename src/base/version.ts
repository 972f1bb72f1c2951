import { readFileSync } from 'node:fs';
import { BUILD } from './build.ts';
import { info, type MetricDescription } from './metric-description.ts';

/** Upper bound on the folders between package.json and this file, bundled or not. */
const MAX_DEPTH = 4;

export function readVersion(): string {
  for (let folder = '..', depth = 0; depth < MAX_DEPTH; depth += 1, folder += '/..') {
    const version = versionIn(new URL(`${folder}/package.json`, import.meta.url));
    if (version !== undefined) return version;
  }
  return 'unknown';
}

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

/** The source is the version string, e.g. `1.4.0`. */
export const VERSION_METRICS: readonly MetricDescription<string>[] = [
  info(
    'd2_sidecar_build_info',
    'Version and commit of the sidecar, and version of Node.js.',
    (version) => ({ [version]: { [BUILD]: { [process.version]: 1 } } }),
    'version',
    'build',
    'node',
  ),
];
