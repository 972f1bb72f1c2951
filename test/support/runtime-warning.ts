/**
 * The warning about the Node.js that runs the tests, if that has known vulnerabilities. The tests of other things leave it out;
 * test/system/runtime-warning.test.ts is about it.
 */
import { describeHoles } from '../../src/base/advisories.ts';

export const RUNTIME_WARNING: string | undefined = describeHoles(process.versions.node);

/** Without its line on standard error. */
export function withoutRuntimeWarning(stderr: string): string {
  return RUNTIME_WARNING === undefined ? stderr : stderr.replace(`d2-sidecar: warning: ${RUNTIME_WARNING}\n`, '');
}
