/** The cost of a start must not grow unnoticed: milliseconds cannot be tested on a busy machine, loaded modules can. */
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { untilTestEnds } from '../support/deferred.ts';
import { startSidecarBefore } from '../support/sidecar-process.ts';

/** Prints the parts of Node that were loaded. */
const TELL = `process.on('exit', () => process.stderr.write(JSON.stringify(process.moduleLoadList)))`;
/** The parts of fetch in a list of loaded modules, as JSON. */
function partsOfFetch(loaded: string): string[] {
  return (JSON.parse(loaded) as string[]).filter((name) => name.includes('undici'));
}

it('a sidecar starts and answers with statistics without loading more of fetch than Node does for http', async () => {
  // In addition to the options of every test process.
  const NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=data:text/javascript,${encodeURIComponent(TELL)}`;
  const sidecar = await startSidecarBefore(1, { NODE_OPTIONS }, [], untilTestEnds);
  const response = await fetch(`http://${sidecar.monitor}/smartWeb/api/rest/v0/admin/metrics/d2`);
  expect(response.status).toBe(200);
  expect(await sidecar.stop()).toBe(0);
  expect(sidecar.stderr()).toContain('"NativeModule http"');
  // Node itself may load it when `http` is imported: 26 does, 20 does not.
  const script = `import 'node:http'; console.log(JSON.stringify(process.moduleLoadList))`;
  const withHttp = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  expect(partsOfFetch(sidecar.stderr())).toEqual(partsOfFetch(withHttp));
});
