/** `d2-sidecar report`: asks a running sidecar over the control socket for one JSON document, for a support ticket. */
import { constants } from 'node:fs';
import { ConfigError, SidecarError } from '../base/errors.ts';
import { escapeHidden } from '../base/shown-text.ts';
import { describeFileError, openTrusted } from '../base/trusted-file.ts';
import { removeOwn } from '../base/write-aside.ts';
import { askSidecar } from './ask-sidecar.ts';
import type { Run } from './command-line.ts';
import { requestReport, requestStatus } from './control/control-client.ts';

const FILE_MODE = 0o600;
const NEW_FILE = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY;

/** Throws ConfigError if the file already exists, D2S_ERR_REPORT if it cannot be written. */
export const report: Run<'report'> = async ({ flags, file, includesUsers }, env, output) => {
  const { pid, text } = await askSidecar(flags, env, output, async (socket) => {
    const status = await requestStatus(socket);
    return { pid: status.pid, text: await requestReport(socket, includesUsers) };
  });
  // Indented for people. Doing this in the sidecar would make its traffic wait.
  const document = `${escapeHidden(JSON.stringify(JSON.parse(text), undefined, 2))}\n`;
  if (file === undefined) {
    output.out(document);
    return 0;
  }
  await writeNew(file, document);
  const whom = includesUsers ? 'with user names and addresses' : 'without user names and addresses';
  output.out(`d2-sidecar ${pid}: report written to ${file}, ${Buffer.byteLength(document)} bytes, ${whom}\n`);
  return 0;
};

async function writeNew(file: string, text: string): Promise<void> {
  try {
    const { handle, realPath } = await openTrusted(file, NEW_FILE, FILE_MODE);
    try {
      await handle.writeFile(text);
    } catch (cause) {
      // Half a document is useless, and would block the next attempt.
      await removeOwn(realPath).catch(() => undefined);
      throw cause;
    } finally {
      await handle.close();
    }
  } catch (cause) {
    const code = describeFileError(cause);
    if (code === 'EEXIST') throw new ConfigError(`--out: ${file} already exists, expected the path of a new file`);
    throw new SidecarError('D2S_ERR_REPORT', `${file} cannot be written: ${code}`, { cause });
  }
}
