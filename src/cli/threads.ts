/**
 * `d2-sidecar threads`: the running sidecar takes a thread dump of the application server's JVM; a summary comes first.
 * Where the sidecar may not, root's command takes it by itself, as root's `jcmd` does.
 */
import { systemClock } from '../base/clock.ts';
import { SidecarError } from '../base/errors.ts';
import { SILENT } from '../base/logger.ts';
import { platform } from '../base/platform/platform.ts';
import { cleanDump, summariseThreads } from '../jvm/thread-dump.ts';
import { askSidecar } from './ask-sidecar.ts';
import type { Run } from './command-line.ts';
import { requestStatus, requestThreads } from './control/control-client.ts';
import { ControlError, type ControlStatus } from './control/protocol.ts';

type Server = NonNullable<ControlStatus['server']>;

/** A JVM that stands still opens its attach socket late. */
const DUMP_TIMEOUT_MS = 70_000;
const READ_TIMEOUT_MS = 5_000;

/** Throws D2S_ERR_CONTROL if the JVM's attach socket cannot be reached. */
export const threads: Run<'threads'> = async ({ flags }, env, output) => {
  const text = await askSidecar(flags, env, output, (socket) =>
    requestThreads(socket).catch((refused: unknown) => dumpAsRoot(socket, refused)),
  );
  const dump = cleanDump(text);
  output.out(`${summariseThreads(dump)}\n${dump}`);
  return 0;
};

async function dumpAsRoot(socket: string, refused: unknown): Promise<string> {
  if (!(refused instanceof ControlError) || platform.userId() !== 0) throw refused;
  const { server } = await requestStatus(socket);
  if (server === undefined) throw refused;
  try {
    return await dumpOf(server);
  } catch (cause) {
    if (!(cause instanceof SidecarError)) throw cause;
    throw new ControlError(`${refused.message}; as root: ${cause.message}`, cause);
  }
}

async function dumpOf({ host, port, pid, user }: Server): Promise<string> {
  const { createLocalSource } = await import('../jvm/local-source.ts');
  const jvm = { attach: true, timeoutMs: READ_TIMEOUT_MS, pid, user };
  const source = createLocalSource({ config: { jvm, upstream: { host, port } }, clock: systemClock, logger: SILENT });
  try {
    return await source.dumpThreads(AbortSignal.timeout(DUMP_TIMEOUT_MS));
  } finally {
    source.close();
  }
}
