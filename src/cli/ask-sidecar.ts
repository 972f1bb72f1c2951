/** Asks a running sidecar over its control socket, and the commands that only ask for one thing. */
import path from 'node:path';
import { systemClock } from '../base/clock.ts';
import { showProgress } from '../base/progress.ts';
import type { Environment } from '../config/environment.ts';
import { loadControlSocket } from '../config/load-config.ts';
import type { Run, Selection } from './command-line.ts';
import {
  requestAlertTest,
  requestBackup,
  requestNote,
  requestReload,
  requestSilence,
} from './control/control-client.ts';
import { findSidecar } from './control/find-sidecar.ts';
import { EXIT_FAILED, EXIT_USAGE, type Output } from './output.ts';

/**
 * Sends `request` to the control socket of the selected sidecar. Throws ConfigError if several sidecars run,
 * D2S_ERR_CONTROL if none does, and what `request` throws.
 */
export async function askSidecar<T>(
  flags: Selection,
  env: Environment,
  output: Output,
  request: (socket: string) => Promise<T>,
): Promise<T> {
  return await showProgress(output.err, 'waiting for the sidecar', findSocket(flags, env).then(request));
}

async function findSocket(flags: Selection, env: Environment): Promise<string> {
  const { control, pid } = flags;
  if (control !== undefined) return control;
  // A process id on the command line is more specific than a socket path that is set for everybody.
  const socket = pid === undefined ? await loadControlSocket({ flags, env }) : undefined;
  return socket ?? (await findSidecar(pid));
}

/** Exit code 1 if a receiver did not take the message. */
export const testAlerts: Run<'alerts'> = async ({ flags }, env, output) => {
  const results = await askSidecar(flags, env, output, requestAlertTest);
  for (const { channel, isSent, text } of results) {
    if (isSent) output.out(`${channel}: sent, the receiver answered: ${text}\n`);
    else output.err(`d2-sidecar: ${channel}: not sent: ${text}\n`);
  }
  return results.every(({ isSent }) => isSent) ? 0 : EXIT_FAILED;
};

export const silence: Run<'silence'> = async ({ flags, ms, text }, env, output) => {
  const { pid } = await askSidecar(flags, env, output, (socket) => requestSilence(socket, ms, text));
  const until = new Date(systemClock.epochMs() + ms).toISOString().slice(0, 16).replace('T', ' ');
  output.out(`d2-sidecar ${pid}: ${ms === 0 ? 'messages are sent again' : `no messages until ${until} UTC`}\n`);
  return 0;
};

export const note: Run<'note'> = async ({ flags, text }, env, output) => {
  const { pid } = await askSidecar(flags, env, output, (socket) => requestNote(socket, text));
  output.out(`d2-sidecar ${pid}: noted\n`);
  return 0;
};

/** The sidecar writes the file, with the rights of its user. */
export const backup: Run<'history'> = async ({ flags, file }, env, output) => {
  const target = path.resolve(file);
  await askSidecar(flags, env, output, (socket) => requestBackup(socket, target));
  output.out(`history copied to ${target}\n`);
  return 0;
};

/** Exit code 64 for an unusable configuration, 1 for an unreadable file; both change nothing. */
export const reload: Run<'reload'> = async ({ flags }, env, output) => {
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
};
