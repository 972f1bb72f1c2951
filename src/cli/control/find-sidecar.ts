/** Finds the sidecar that a command is for: the installed service's, then those of this user, for root of all users. */
import { lstatSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { ConfigError, isErrno, SidecarError } from '../../base/errors.ts';
import { platform } from '../../base/platform/platform.ts';
import { requestStatus } from './control-client.ts';
import { ControlError } from './protocol.ts';
import { checkPrivateFolder, defaultFolder, defaultSocketPath, foldersOfUsers, isListening } from './socket-folder.ts';

/** Where control sockets may be. */
export interface SocketPlaces {
  /** That of the installed service (`RuntimeDirectory=` of its unit). */
  readonly service: string;
  /** This user's sockets without a configured path. */
  readonly folder: string;
  /** The same of other users. */
  readonly others: readonly string[];
}

/** Another user may leave any number of sockets that do not answer. */
const MAX_FOREIGN = 16;
const ADVICE = 'start one, or run this as its user or as root, in its container';

function findPlaces(): SocketPlaces {
  const folder = defaultFolder();
  const others = platform.userId() === 0 ? foldersOfUsers().filter((other) => other !== folder) : [];
  return { service: platform.serviceSocket, folder, others };
}

/**
 * The path of the control socket of the sidecar with that process id; without one, of the only sidecar. Throws
 * D2S_ERR_CONTROL if there is none, and ConfigError with a list if there are several.
 */
export async function findSidecar(
  pid: number | undefined,
  { service, folder, others }: SocketPlaces = findPlaces(),
): Promise<string> {
  const own = checkPrivateFolder(folder) ? readSockets(folder) : [];
  if (pid !== undefined) {
    const wanted = defaultSocketPath(pid, folder);
    if (own.includes(wanted) && (await isListening(wanted))) return wanted;
  }
  // Without those of a folder that disappears meanwhile.
  const foreign = others.flatMap((other) => attempt(() => readSockets(other).slice(-MAX_FOREIGN)) ?? []);
  const installed = isSocket(service) ? [service] : [];
  const live = [...(await queryForeign([...installed, ...foreign])), ...(await queryAll(own))];
  const looked = `looked in ${[path.dirname(service), folder, ...others].join(', ')}`;
  if (pid !== undefined) {
    const found = live.find(({ status }) => status.pid === pid);
    if (found !== undefined) return found.path;
    throw new ControlError(`no running sidecar has the process id ${pid} (${looked}); ${ADVICE}`);
  }
  const [only, ...further] = live;
  if (only === undefined)
    throw new ControlError(`no running sidecar found (${looked}); ${ADVICE}, or name its socket by --control`);
  if (further.length === 0) return only.path;
  const list = live.map(
    ({ path: place, status }) =>
      `  --pid ${status.pid}  listens on ${status.listen}, monitor on ${status.monitor}${place === service ? ', the installed service' : ''}`,
  );
  throw new ConfigError([`${live.length} sidecars are running, expected --pid to choose one:`, ...list].join('\n'));
}

/** Paths of sockets in the folder, by process id. */
function readSockets(folder: string): readonly string[] {
  const names = readdirSync(folder).filter((name) => /^\d+\.sock$/.test(name));
  return names
    .sort((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10))
    .map((name) => path.join(folder, name));
}

/** False also where this user may not look. */
function isSocket(file: string): boolean {
  return platform.isPipe(file) || attempt(() => platform.isControlFile(lstatSync(file))) === true;
}

async function query(path: string) {
  return { path, status: await requestStatus(path) };
}

type Found = Awaited<ReturnType<typeof query>>;

/** The sidecars of others that answer. All at once: some may only let this one wait. */
async function queryForeign(sockets: readonly string[]): Promise<readonly Found[]> {
  const answers = await Promise.allSettled(sockets.map(query));
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
}

/** The sidecars of this user that answer. Throws what the last one answered if there is none, but some listen. */
async function queryAll(sockets: readonly string[]): Promise<readonly Found[]> {
  const live: Found[] = [];
  let unusable: unknown;
  // One at a time: killed processes may have left any number of them, and file descriptors are few.
  for (const path of sockets) {
    try {
      live.push(await query(path));
    } catch (error) {
      // The socket of a killed process, which nothing else would ever remove; on Windows a file without its pipe.
      const cause = error instanceof SidecarError ? error.cause : undefined;
      if (isErrno(cause, 'ECONNREFUSED') || isErrno(cause, 'ENOENT')) rmSync(path, { force: true });
      else unusable = error;
    }
  }
  if (live.length === 0 && unusable !== undefined) throw unusable;
  return live;
}
