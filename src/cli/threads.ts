/**
 * `d2-sidecar threads`: the running sidecar takes a thread dump of the application server's JVM; a summary comes first.
 */
import type { Environment } from '../config/environment.ts';
import { cleanDump } from '../jvm/clean-dump.ts';
import { summariseThreads } from '../jvm/thread-dump.ts';
import type { FlagsOf } from './command-line.ts';
import { requestThreads } from './control/control-client.ts';
import { findSocket } from './drain.ts';
import type { Output } from './output.ts';

/** Throws D2S_ERR_CONTROL, with the reason, if no sidecar runs or it cannot reach the JVM's attach socket. */
export async function threads({ flags }: FlagsOf<'threads'>, env: Environment, output: Output): Promise<number> {
  const dump = cleanDump(await requestThreads(await findSocket(flags, env)));
  output.out(`${summariseThreads(dump)}\n${dump}`);
  return 0;
}
