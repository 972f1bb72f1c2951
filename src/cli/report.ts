/** `d2-sidecar report`: how a running sidecar is, as one JSON document for a support ticket; asked over the control socket. */
import { open, rm } from 'node:fs/promises';
import { ConfigError, SidecarError } from '../base/errors.ts';
import type { Environment } from '../config/environment.ts';
import type { ReportFlags } from './command-line.ts';
import { requestReport } from './control/control-client.ts';
import { findSocket } from './drain.ts';
import type { Output } from './output.ts';

/** It says of traffic what not everybody is to know. */
const FILE_MODE = 0o600;

/**
 * Throws ConfigError if several sidecars run or the file is there already, D2S_ERR_CONTROL if no sidecar runs or it does not answer,
 * D2S_ERR_REPORT if the file cannot be written.
 */
export async function report(
  { flags, file, hasUsers }: ReportFlags,
  env: Environment,
  output: Output,
): Promise<number> {
  const socket = await findSocket(flags, env).catch(explainNobody);
  const { status, text } = await requestReport(socket, hasUsers);
  // For people, too. Here and not in the sidecar, whose traffic would have to wait for it.
  const document = `${JSON.stringify(JSON.parse(text), undefined, 2)}\n`;
  if (file === undefined) {
    output.out(document);
    return 0;
  }
  await writeNew(file, document);
  const whom = hasUsers ? 'names of users and addresses are in it' : 'no names of users and no addresses are in it';
  output.out(`d2-sidecar ${status.pid} is reported in ${file}, ${Buffer.byteLength(document)} bytes; ${whom}\n`);
  return 0;
}

function explainNobody(error: unknown): never {
  if (!(error instanceof SidecarError) || error instanceof ConfigError) throw error;
  const advice = 'a report is of a sidecar that runs: run this as its user, and in its container';
  throw new SidecarError(error.code, `${error.message}; ${advice}`, { cause: error });
}

async function writeNew(file: string, text: string): Promise<void> {
  try {
    const handle = await open(file, 'wx', FILE_MODE);
    try {
      await handle.writeFile(text);
    } catch (cause) {
      // Half of a document helps nobody, and would be in the way of the next try.
      await rm(file, { force: true }).catch(() => undefined);
      throw cause;
    } finally {
      await handle.close();
    }
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason';
    if (code === 'EEXIST') throw new ConfigError(`--out: ${file} is there already, expected the path of a new file`);
    throw new SidecarError('D2S_ERR_REPORT', `${file} cannot be written: ${code}`, { cause });
  }
}
