/** Finds the sidecar that a command is for, among those of this user. */
import { readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, isErrno, SidecarError } from '../../base/errors.ts';
import { requestStatus } from './control-client.ts';
import { ControlError, type ControlStatus } from './protocol.ts';
import { checkPrivateFolder, defaultFolder, defaultSocketPath, isListening } from './socket-folder.ts';

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
  const sockets = listSockets(folder);
  if (pid !== undefined) {
    const wanted = defaultSocketPath(pid, folder);
    if (sockets.includes(wanted) && (await isListening(wanted))) return wanted;
    throw new ControlError(
      `no running sidecar of this user has the process id ${pid} (looked in ${folder}); run this as its user, and in its container`,
    );
  }
  const live = await queryAll(sockets);
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

/** Paths of sockets in the folder, by process id. */
function listSockets(folder: string): readonly string[] {
  try {
    checkPrivateFolder(folder);
  } catch (error) {
    if (error instanceof SidecarError && isErrno(error.cause, 'ENOENT')) return [];
    throw error;
  }
  return readdirSync(folder)
    .filter((name) => /^\d+\.sock$/.test(name))
    .sort((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10))
    .map((name) => path.join(folder, name));
}

/** Those that answer. Throws what the last one answered if there is none, but some listen. */
async function queryAll(sockets: readonly string[]): Promise<readonly Live[]> {
  const live: Live[] = [];
  let unusable: unknown;
  for (let first = 0; first < sockets.length; first += BATCH_SIZE) {
    const query = async (path: string) => live.push({ path, status: await requestStatus(path) });
    const batch = sockets.slice(first, first + BATCH_SIZE).map(
      async (path) =>
        await query(path).catch((error: unknown) => {
          // The socket of a killed process, which nothing else would ever remove.
          if (error instanceof SidecarError && isErrno(error.cause, 'ECONNREFUSED')) rmSync(path, { force: true });
          else unusable = error;
        }),
    );
    await Promise.all(batch);
  }
  if (live.length === 0 && unusable !== undefined) throw unusable;
  return live.sort((one, other) => one.status.pid - other.status.pid);
}
