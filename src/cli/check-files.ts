/** Checks every file and folder that a configuration names, as the sidecar would at startup and at run time. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../base/clock.ts';
import { SidecarError, StartError } from '../base/errors.ts';
import { describeFileError, readRegularFile, resolveTrusted } from '../base/trusted-file.ts';
import type { Config } from '../config/config.ts';
import { findLogObstacle } from '../export/access-log/log-obstacle.ts';
import { AccessList, type ListedReader } from '../monitor/access/access-list.ts';
import { UpstreamTls } from '../proxy/upstream/upstream-tls.ts';
import { findObstacle } from '../state/restore-state.ts';
import { readAuthorities } from '../tls/authorities.ts';
import { ListenerTls } from '../tls/listener-tls.ts';
import { checkPrivateFolder, isWindowsPipe } from './control/socket-folder.ts';

interface Findings {
  /** Errors that prevent a start, or that make the monitoring port refuse everybody. */
  readonly errors: readonly SidecarError[];
  /** Problems that do not prevent a start; each begins with its key. */
  readonly warnings: readonly string[];
  readonly readers: readonly ListedReader[];
}

const MAX_BYTES = 1024 * 1024;

/** `folders`: those that a start makes. */
export async function checkFiles(config: Config, folders: readonly string[] = []): Promise<Findings> {
  const errors: SidecarError[] = [];
  const warnings: string[] = [];
  const collect = async (check: () => Promise<unknown>) => {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof SidecarError)) throw error;
      errors.push(error);
    }
  };
  let readers: readonly ListedReader[] = [];
  const { auth } = config.monitor;
  for (const check of tlsChecks(config, (warning) => warnings.push(String(warning)))) await collect(check);
  await collect(async () => {
    if (typeof auth === 'object') readers = (await AccessList.open(auth)).readers;
  });
  await collect(async () => checkControlFolder(config));
  warnings.push(...(await findUnwritable(config, folders)));
  for (const { key, file } of runtimeFiles(config)) {
    const bytes = await readRegularFile(file, MAX_BYTES).catch((error: unknown) => {
      warnings.push(`${key}: ${file} cannot be read: ${describeFileError(error)}`);
    });
    if (bytes && key.endsWith('.caFile'))
      await collect(() => readAuthorities(`${key}: ${file}`, bytes.toString('latin1')));
  }
  return { errors, warnings, readers };
}

function tlsChecks({ listen, monitor, upstream }: Config, warn: (warning: unknown) => void) {
  const silent = () => undefined;
  const parts = { clock: systemClock, logger: { debug: silent, info: silent, warn, error: warn } };
  return [
    async () => listen.tls && (await ListenerTls.open('listen.tls', listen.tls, parts)),
    async () => monitor.tls && (await ListenerTls.open('monitor.tls', monitor.tls, parts)),
    async () => upstream.tls && (await UpstreamTls.open(upstream, upstream.tls, parts)),
  ];
}

/** Skipped for root, whose folder may belong to another user's sidecar. Startup creates a missing folder. */
function checkControlFolder({ control: { socket } }: Config): void {
  if (socket === undefined || isWindowsPipe(socket) || process.getuid?.() === 0) return;
  try {
    checkPrivateFolder(path.dirname(socket));
  } catch (error) {
    if (!(error instanceof SidecarError)) throw error;
    throw new StartError('D2S_ERR_CONTROL', `control.socket: ${error.message}`, { cause: error });
  }
}

/** Startup continues without these files, so that a missing volume does not stop traffic. */
async function findUnwritable(
  { state, accessLog, diagnosis }: Config,
  folders: readonly string[],
): Promise<readonly string[]> {
  const { folder } = diagnosis.threads;
  const isMade = (file: string) => folders.includes(path.dirname(file)) && !existsSync(path.dirname(file));
  const findLinkObstacle = (file: string) =>
    resolveTrusted(file).then(
      () => undefined,
      (cause: unknown) => `${file}: ${describeFileError(cause)}`,
    );
  const found = [
    ['diagnosis.threads.folder: cannot be written', folder && (await findLinkObstacle(folder))],
    ['state.file: cannot be saved', state.file && !isMade(state.file) && (await findObstacle(state.file))],
    [
      'accessLog.file: cannot be written',
      accessLog.file && !isMade(accessLog.file) && (await findLogObstacle(accessLog.file)),
    ],
  ];
  return found.flatMap(([what, reason]) => (reason ? [`${what}: ${reason}`] : []));
}

/** The sidecar reads these files again and again while it runs, and logs errors in their contents. */
function runtimeFiles({ jvm, otlp }: Config): readonly { readonly key: string; readonly file: string }[] {
  const files = {
    'jvm.http.passwordFile': jvm.http?.passwordFile,
    'jvm.http.caFile': jvm.http?.caFile,
    'otlp.headersFile': otlp.headersFile,
    'otlp.caFile': otlp.caFile,
  };
  return Object.entries(files).flatMap(([key, file]) => (file === undefined ? [] : [{ key, file }]));
}
