import { attempt } from './attempt.ts';
import { BUILD } from './build.ts';
import { info, type MetricDescription } from './metric-description.ts';
import { readProgramFile } from './program-files.ts';

export function readVersion(): string {
  return attempt(() => JSON.parse(readProgramFile('package.json').toString()).version as string) ?? 'unknown';
}

export function describeVersion(): string {
  return `${readVersion()} (build ${BUILD}, Node ${process.version})`;
}

/** The source is the version string, e.g. `1.4.0`. */
export const VERSION_METRICS: readonly MetricDescription<string>[] = [
  info(
    'd2_sidecar_build_info',
    'Versions of the sidecar and Node.js, and commit.',
    (version: string) => ({ [version]: { [BUILD]: { [process.version]: 1 } } }),
    'version',
    'build',
    'node',
  ),
];
