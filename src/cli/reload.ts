/** `d2-sidecar reload`: makes a running sidecar read its configuration again, as SIGHUP does. */
import type { Environment } from '../config/environment.ts';
import type { TargetFlags } from './command-line.ts';
import { requestReload } from './control/control-client.ts';
import { findSocket } from './drain.ts';
import type { Output } from './output.ts';

const EXIT_USAGE = 64;
const EXIT_FAILED = 1;

/**
 * Exit code 64 for an unusable configuration, 1 for an unreadable file: nothing has changed then. Throws as `drain`.
 */
export async function reload(
  { flags }: { readonly flags: TargetFlags },
  env: Environment,
  output: Output,
): Promise<number> {
  const { status, reload: answer } = await requestReload(await findSocket(flags, env));
  if (answer.kind === 'applied') {
    const changed = answer.changed.length === 0 ? 'nothing has changed' : `changed: ${answer.changed.join(', ')}`;
    output.out(`d2-sidecar ${status.pid} has read its configuration again, ${changed}\n`);
    if (answer.waiting.length > 0) output.out(`needs a restart: ${answer.waiting.join(', ')}\n`);
    return 0;
  }
  for (const problem of answer.problems) output.err(`d2-sidecar: ${problem}\n`);
  output.err(`d2-sidecar: nothing has changed in ${status.pid}, which goes on as before\n`);
  return answer.code === 'D2S_ERR_CONFIG' ? EXIT_USAGE : EXIT_FAILED;
}
