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

/**
 * The path of the control socket. Without `socket` and `pid`, that of this user's only sidecar. Throws D2S_ERR_CONTROL
 * if there is none, and ConfigError with a list if there are several.
 */
export async function findSidecar({ socket, pid, folder = defaultFolder() }: Selection): Promise<string> {
  if (socket !== undefined) return socket;
  const sockets = listSockets(folder);
  const advice = 'run this as its user, and in its container';
  if (pid !== undefined) {
    const wanted = defaultSocketPath(pid, folder);
    if (sockets.includes(wanted) && (await isListening(wanted))) return wanted;
    throw new ControlError(
      `no running sidecar of this user has the process id ${pid} (looked in ${folder}); ${advice}`,
    );
  }
  const live = await queryAll(sockets);
  const [only, ...others] = live;
  if (only === undefined) {
    throw new ControlError(
      `no running sidecar of this user found in ${folder}; ${advice}, or name its socket by --control`,
    );
  }
  if (others.length === 0) return only.path;
  const list = live.map(
    ({ status }) => `  --pid ${status.pid}  listens on ${status.listen}, monitor on ${status.monitor}`,
  );
  throw new ConfigError([`${live.length} sidecars are running, expected --pid to choose one:`, ...list].join('\n'));
}

/** Paths of sockets in the folder, by process id. */
function listSockets(folder: string): readonly string[] {
  if (!checkPrivateFolder(folder)) return [];
  const names = readdirSync(folder).filter((name) => /^\d+\.sock$/.test(name));
  return names
    .sort((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10))
    .map((name) => path.join(folder, name));
}

/** The sidecars that answer. Throws what the last one answered if there is none, but some listen. */
async function queryAll(sockets: readonly string[]) {
  const live: { readonly path: string; readonly status: ControlStatus }[] = [];
  let unusable: unknown;
  // One at a time: killed processes may have left any number of them, and file descriptors are few.
  for (const path of sockets) {
    try {
      live.push({ path, status: await requestStatus(path) });
    } catch (error) {
      // The socket of a killed process, which nothing else would ever remove.
      if (error instanceof SidecarError && isErrno(error.cause, 'ECONNREFUSED')) rmSync(path, { force: true });
      else unusable = error;
    }
  }
  if (live.length === 0 && unusable !== undefined) throw unusable;
  return live;
}
