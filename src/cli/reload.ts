/** `d2-sidecar reload`: makes a running sidecar reload its configuration, as SIGHUP does. */
import type { Environment } from '../config/environment.ts';
import { askSidecar } from './ask-sidecar.ts';
import type { FlagsOf } from './command-line.ts';
import { requestReload } from './control/control-client.ts';
import { EXIT_FAILED, EXIT_USAGE, type Output } from './output.ts';

/**
 * Exit code 64 for an unusable configuration, 1 for an unreadable file; both change nothing. Throws like `askSidecar`.
 */
export async function reload({ flags }: FlagsOf<'reload'>, env: Environment, output: Output): Promise<number> {
  const { status, reload: answer } = await askSidecar(flags, env, output, requestReload);
  if (answer.kind === 'applied') {
    const changed = answer.changed.length === 0 ? 'nothing changed' : `changed: ${answer.changed.join(', ')}`;
    output.out(`d2-sidecar ${status.pid} reloaded its configuration, ${changed}\n`);
    if (answer.waiting.length > 0) output.out(`needs a restart: ${answer.waiting.join(', ')}\n`);
    return 0;
  }
  for (const problem of answer.problems) output.err(`d2-sidecar: ${problem}\n`);
  output.err(`d2-sidecar: ${status.pid} keeps its configuration\n`);
  return answer.code === 'D2S_ERR_CONFIG' ? EXIT_USAGE : EXIT_FAILED;
}
