/** Finds the sidecar that a command is for, among those of this user. */
import { readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, isErrno, SidecarError } from '../../base/errors.ts';
import { isListening, sendCommand } from './control-client.ts';
import { ControlError, type ControlStatus } from './protocol.ts';
import { checkPrivateFolder, defaultFolder, defaultSocketPath } from './socket-folder.ts';

interface Selection {
  readonly socket?: string | undefined;
  readonly pid?: number | undefined;
  /** The folder of sockets without a configured path. */
  readonly folder?: string;
}

/** Sockets queried at a time: killed processes may have left any number of them, and file descriptors are few. */
const BATCH_SIZE = 50;

/**
 * The path of the control socket. Without `socket` and `pid`, that of this user's only sidecar. Throws D2S_ERR_CONTROL
 * if there is none, and ConfigError with a list if there are several.
 */
export async function findSidecar({ socket, pid, folder = defaultFolder() }: Selection): Promise<string> {
  if (socket !== undefined) return socket;
  const live = await listLive(folder);
  if (pid !== undefined) {
    const wanted = defaultSocketPath(pid, folder);
    if (live.some((one) => one.path === wanted)) return wanted;
    throw new ControlError(
      `no running sidecar of this user has the process id ${pid} (looked in ${folder}); run this as its user, and in its container`,
    );
  }
  const [only, ...others] = live;
  if (only === undefined) {
    throw new ControlError(
      `no running sidecar of this user found in ${folder}; run this as its user, and in its container, or name its socket by --control`,
    );
  }
  if (others.length === 0) return only.path;
  const list = live.map(
    ({ status }) => `  --pid ${status.pid}  listens on ${status.listen}, monitor on ${status.monitor}`,
  );
  throw new ConfigError([`${live.length} sidecars are running, expected --pid to choose one:`, ...list].join('\n'));
}

interface Live {
  readonly path: string;
  readonly status: ControlStatus;
}

async function listLive(folder: string): Promise<readonly Live[]> {
  let names: string[];
  try {
    checkPrivateFolder(folder);
    names = readdirSync(folder);
  } catch (error) {
    const cause = error instanceof SidecarError ? error.cause : error;
    if (isErrno(cause, 'ENOENT')) return [];
    throw error;
  }
  const sockets = names
    .filter((name) => /^\d+\.sock$/.test(name))
    .sort((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10));
  const live: Live[] = [];
  for (let first = 0; first < sockets.length; first += BATCH_SIZE) {
    const batch = sockets.slice(first, first + BATCH_SIZE);
    const asked = await Promise.all(batch.map((name) => ask(path.join(folder, name))));
    live.push(...asked.filter((one) => one !== undefined));
  }
  return live;
}

async function ask(socketPath: string): Promise<Live | undefined> {
  try {
    return { path: socketPath, status: await sendCommand(socketPath, 'status') };
  } catch (error) {
    // The socket of a killed process, which nothing else would ever remove.
    if (error instanceof SidecarError && isErrno(error.cause, 'ECONNREFUSED') && !(await isListening(socketPath))) {
      rmSync(socketPath, { force: true });
    }
    return undefined;
  }
}
