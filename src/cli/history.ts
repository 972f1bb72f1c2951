/** `d2-sidecar note` and `d2-sidecar history backup`: of the history of a running sidecar. */
import path from 'node:path';
import type { Environment } from '../config/environment.ts';
import { askSidecar } from './ask-sidecar.ts';
import type { FlagsOf } from './command-line.ts';
import { requestBackup, requestNote } from './control/control-client.ts';
import type { Output } from './output.ts';

/** Throws like `askSidecar`. */
export async function note({ flags, text }: FlagsOf<'note'>, env: Environment, output: Output): Promise<number> {
  const { pid } = await askSidecar(flags, env, output, (socket) => requestNote(socket, text));
  output.out(`d2-sidecar ${pid}: noted\n`);
  return 0;
}

/** The sidecar writes the file, with the rights of its user. Throws like `askSidecar`. */
export async function backup({ flags, file }: FlagsOf<'history'>, env: Environment, output: Output): Promise<number> {
  const target = path.resolve(file);
  await askSidecar(flags, env, output, (socket) => requestBackup(socket, target));
  output.out(`history copied to ${target}\n`);
  return 0;
}
