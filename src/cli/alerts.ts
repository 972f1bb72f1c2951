/** `d2-sidecar alerts test` and `d2-sidecar silence`: the messages of a running sidecar. */
import { systemClock } from '../base/clock.ts';
import type { Environment } from '../config/environment.ts';
import { askSidecar } from './ask-sidecar.ts';
import type { FlagsOf } from './command-line.ts';
import { requestAlertTest, requestSilence } from './control/control-client.ts';
import { EXIT_FAILED, type Output } from './output.ts';

/** Exit code 1 if a receiver did not take the message. Throws like `askSidecar`. */
export async function testAlerts({ flags }: FlagsOf<'alerts'>, env: Environment, output: Output): Promise<number> {
  const results = await askSidecar(flags, env, output, requestAlertTest);
  for (const { channel, isSent, text } of results) {
    if (isSent) output.out(`${channel}: sent, the receiver answered: ${text}\n`);
    else output.err(`d2-sidecar: ${channel}: not sent: ${text}\n`);
  }
  return results.every(({ isSent }) => isSent) ? 0 : EXIT_FAILED;
}

/** Throws like `askSidecar`. */
export async function silence(
  { flags, ms, text }: FlagsOf<'silence'>,
  env: Environment,
  output: Output,
): Promise<number> {
  const { pid } = await askSidecar(flags, env, output, (socket) => requestSilence(socket, ms, text));
  const until = new Date(systemClock.epochMs() + ms).toISOString().slice(0, 16).replace('T', ' ');
  output.out(`d2-sidecar ${pid}: ${ms === 0 ? 'messages are sent again' : `no messages until ${until} UTC`}\n`);
  return 0;
}
