import { showProgress } from '../base/progress.ts';
import type { Environment } from '../config/environment.ts';
import { loadControlSocket } from '../config/load-config.ts';
import type { Selection } from './command-line.ts';
import { findSidecar } from './control/find-sidecar.ts';
import type { Output } from './output.ts';

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
