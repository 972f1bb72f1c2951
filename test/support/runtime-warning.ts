/** The warning about a vulnerable Node.js that runs the tests; test/system/runtime-warning.test.ts is about it. */
import { describeHoles } from '../../src/base/advisories.ts';

export const RUNTIME_WARNING: string | undefined = describeHoles(process.versions.node);

/** Without its line on standard error. */
export function withoutRuntimeWarning(stderr: string): string {
  return RUNTIME_WARNING === undefined ? stderr : stderr.replace(`d2-sidecar: warning: ${RUNTIME_WARNING}\n`, '');
}
