/** `d2-sidecar verdict`: prints the verdict, and exits as monitoring plugins (Nagios, Zabbix) do. */
import { SidecarError } from '../base/errors.ts';
import type { Environment } from '../config/environment.ts';
import { askSidecar } from './ask-sidecar.ts';
import type { FlagsOf } from './command-line.ts';
import { requestTop } from './control/control-client.ts';
import type { TopDocument } from './control/protocol.ts';
import type { Output } from './output.ts';

const OK = 0;
const WARNING = 1;
const CRITICAL = 2;
const UNKNOWN = 3;

/**
 * Prints one line for each application and returns the worst exit code: 0 `fine`, `quiet`, `draining`; 1 clients, the
 * network, or slow calls; 2 the server or the sidecar; 3 no sidecar runs, or it does not answer.
 */
export async function verdict({ flags }: FlagsOf<'verdict'>, env: Environment, output: Output): Promise<number> {
  let document: TopDocument;
  try {
    document = await askSidecar(flags, env, output, requestTop);
  } catch (cause) {
    if (!(cause instanceof SidecarError) || cause.code !== 'D2S_ERR_CONTROL') throw cause;
    output.out(`Unknown: ${cause.message}\n`);
    return UNKNOWN;
  }
  const { applications } = document.live;
  for (const { name, verdict: found } of applications) {
    output.out(`${applications.length === 1 ? '' : `/${name}: `}${found.text}\n`);
  }
  return Math.max(...applications.map(({ verdict: found }) => chooseExitCode(found)));
}

type Verdict = TopDocument['live']['applications'][number]['verdict'];

function chooseExitCode({ code, subject }: Verdict): number {
  if (code === 'fine' || code === 'quiet' || code === 'draining') return OK;
  return code === 'calls-slow' || subject === 'client' || subject === 'network' ? WARNING : CRITICAL;
}
