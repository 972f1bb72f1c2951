/** `d2-sidecar check`: prints the configuration that a start would use, and starts nothing; with `--connect` tries the upstream. */

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../base/clock.ts';
import { ConfigError, SidecarError, StartError } from '../base/errors.ts';
import { SILENT } from '../base/logger.ts';
import { platform } from '../base/platform/platform.ts';
import { describeFileError, readRegularFile, resolveTrusted } from '../base/trusted-file.ts';
import type { Config } from '../config/config.ts';
import { formatYaml } from '../config/effective.ts';
import { CONFIG_VARIABLE } from '../config/environment.ts';
import { type ConfigSources, loadConfig, readConfigFile } from '../config/load-config.ts';
import { findLogObstacle } from '../export/access-log/log-obstacle.ts';
import { AccessList, type ListedReader } from '../monitor/access/access-list.ts';
import { UpstreamTls } from '../proxy/upstream/upstream-tls.ts';
import { findObstacle } from '../state/restore-state.ts';
import { readAuthorities } from '../tls/authorities.ts';
import { ListenerTls } from '../tls/listener-tls.ts';
import { checkPrivateFolder } from './control/socket-folder.ts';
import { findService, type Service } from './installed-service.ts';
import type { Output } from './output.ts';

const COUNTERS_ONLY =
  'on Windows only its counters file is read, without non-heap memory, jvm.attach and thread dumps; jvm.http adds memory';

interface CheckOptions {
  /** `--as`. Undefined: if root checks, the user of the installed unit; otherwise the user of this process. */
  readonly as?: string | undefined;
  readonly isRoot: boolean;
  readonly connects?: boolean;
  /** `become` is irreversible: everything that needs root must be read before it. */
  readonly find?: typeof findService;
  readonly become?: typeof becomeUser;
}

/**
 * Throws the errors that prevent a start or make the monitoring port refuse everybody; an AggregateError for more than
 * one. Warnings go to standard error, so that the output stays a configuration.
 */
export async function check(sources: ConfigSources, output: Output, options: CheckOptions): Promise<number> {
  const { config, warnings } = await loadConfig(sources);
  const warn = (warning: string) => output.err(`d2-sidecar: warning: ${warning}\n`);
  warnings.forEach(warn);
  const yaml = await formatYaml(config);
  const service = await (options.find ?? findService)();
  const who = switchUser(options, service, config, warn);
  const unreadable = who === undefined ? [] : await findUnreadable(sources);
  const found = await checkFiles(config, service?.folders);
  found.warnings.forEach(warn);
  const errors = [...unreadable, ...found.errors];
  if (who !== undefined && errors.length + found.warnings.length > 0) output.err(`d2-sidecar: checked as ${who}\n`);
  if (errors.length > 1) throw new AggregateError(errors);
  for (const error of errors) throw error;
  output.out(yaml);
  for (const { name, role, kind } of found.readers) output.out(`# monitor.auth: ${name}, ${role}, by ${kind}\n`);
  if (platform.serviceManager === 'windows' && config.jvm.source !== 'none' && config.jvm.http === undefined)
    output.out(`# jvm: ${COUNTERS_ONLY}\n`);
  if (options.connects !== true) return 0;
  const { checkConnection } = await import('./check-connect.ts');
  return await checkConnection(config, output);
}

/** Switches to the user of the service. Returns a description of that user; undefined if the process keeps its user. */
function switchUser(
  { as, isRoot, become = becomeUser }: CheckOptions,
  installed: Service | undefined,
  { jvm }: Config,
  warn: (warning: string) => void,
): string | undefined {
  if (as !== undefined && !isRoot)
    throw new ConfigError(`--as: got ${JSON.stringify(as)}: only root can check as another user`);
  if (!isRoot || as === 'root') return undefined;
  const service = as === undefined ? installed : undefined;
  const name = as ?? service?.user;
  if (name === undefined) return undefined;
  if (service?.hidesServer === true && jvm.source !== 'none' && jvm.http === undefined)
    warn(
      `${service.unit}: the service does not see the server’s process, so that its processor time, memory and descriptors are not known: add "ProtectProc=default" to [Service]`,
    );
  try {
    become(name, service?.group);
  } catch (cause) {
    const reason = describeReason(cause);
    if (service === undefined)
      throw new ConfigError(`--as: got ${JSON.stringify(as)}, expected a user of this machine${reason}`, { cause });
    warn(`${service.unit}: cannot check as its user ${name}${reason}: checked as root, which can read everything`);
    return undefined;
  }
  return service === undefined ? `the user ${name}` : `the user ${name} of ${service.unit}; --as root checks as root`;
}

/** ` (EPERM)`, or an empty text without an error code. */
function describeReason(cause: unknown): string {
  const reason = describeFileError(cause);
  return /^E[A-Z_]+$/.test(reason) ? ` (${reason})` : '';
}

/** Root has read the configuration file; this checks that the user of the service can read it, too. */
async function findUnreadable({ flags, env }: ConfigSources): Promise<readonly StartError[]> {
  const file = flags.config ?? (env[CONFIG_VARIABLE] || undefined);
  if (file === undefined) return [];
  try {
    await readConfigFile(file);
    return [];
  } catch (cause) {
    return [new StartError('D2S_ERR_CONFIG_FILE', `${file} cannot be read: ${describeFileError(cause)}`, { cause })];
  }
}

const MAX_BYTES = 1024 * 1024;

/** `folders`: those that a start makes. */
export async function checkFiles(config: Config, folders: readonly string[] = []) {
  /** They prevent a start, or make the monitoring port refuse everybody. */
  const errors: SidecarError[] = [];
  /** Problems that do not prevent a start; each begins with its key. */
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
  const parts = { clock: systemClock, logger: { ...SILENT, warn, error: warn } };
  return [
    async () => listen.tls && (await ListenerTls.open('listen.tls', listen.tls, parts)),
    async () => monitor.tls && (await ListenerTls.open('monitor.tls', monitor.tls, parts)),
    async () => upstream.tls && (await UpstreamTls.open(upstream, upstream.tls, parts)),
  ];
}

/** Skipped for root, whose folder may belong to another user's sidecar. Startup creates a missing folder. */
function checkControlFolder({ control: { socket } }: Config): void {
  if (socket === undefined || platform.isPipe(socket) || platform.userId() === 0) return;
  try {
    checkPrivateFolder(path.dirname(socket));
  } catch (error) {
    if (!(error instanceof SidecarError)) throw error;
    throw new StartError('D2S_ERR_CONTROL', `control.socket: ${error.message}`, { cause: error });
  }
}

/** Startup continues without these files, so that a missing volume does not stop traffic. */
async function findUnwritable({ state, history, accessLog, diagnosis }: Config, folders: readonly string[]) {
  const { folder } = diagnosis.threads;
  const look = async (file: string | undefined, find: (file: string) => Promise<string | undefined>) => {
    if (file === undefined) return undefined;
    const isMade = folders.includes(path.dirname(file)) && !existsSync(path.dirname(file));
    return isMade ? undefined : await find(file);
  };
  const findLinkObstacle = async (file: string) => {
    const found = await resolveTrusted(file).catch((cause: unknown) => `${file}: ${describeFileError(cause)}`);
    return typeof found === 'string' ? found : undefined;
  };
  const found = {
    'diagnosis.threads.folder: cannot be written': folder && (await findLinkObstacle(folder)),
    'state.file: cannot be saved': await look(state.file, findObstacle),
    'history.file': history.file && (await import('../archive/archive.ts')).findRuntimeObstacle(),
    'history.file: cannot be written': await look(history.file, findObstacle),
    'accessLog.file: cannot be written': await look(accessLog.file, findLogObstacle),
  };
  return Object.entries(found).flatMap(([what, reason]) => (reason ? [`${what}: ${reason}`] : []));
}

/** The sidecar reads these files again and again while it runs, and logs errors in their contents. */
function runtimeFiles({ alerts, jvm, otlp }: Config): readonly { readonly key: string; readonly file: string }[] {
  const files = {
    'jvm.http.passwordFile': jvm.http?.passwordFile,
    'jvm.http.caFile': jvm.http?.caFile,
    'otlp.headersFile': otlp.headersFile,
    'otlp.caFile': otlp.caFile,
    'alerts.webhook.urlFile': alerts.webhook.urlFile,
    'alerts.webhook.secretFile': alerts.webhook.secretFile,
    'alerts.webhook.caFile': alerts.webhook.caFile,
    'alerts.mail.passwordFile': alerts.mail.passwordFile,
    'alerts.mail.caFile': alerts.mail.caFile,
  };
  return Object.entries(files).flatMap(([key, file]) => (file === undefined ? [] : [{ key, file }]));
}

/**
 * Irreversibly switches this process to the user `name` (a name or a number) and all groups of that user. `group`: the
 * main group; default: the user's own. Throws if user or group do not exist, or if this process may not switch.
 */
function becomeUser(name: string, group?: string): void {
  // Node's types do not promise them, since Windows has none.
  const { initgroups, setgid, setuid } = process as unknown as Record<
    'initgroups' | 'setgid' | 'setuid',
    (...ids: unknown[]) => void
  >;
  const gid = group === undefined ? groupOf(name) : parseId(group);
  initgroups(parseId(name), gid);
  setgid(gid);
  setuid(parseId(name));
}

/** Asks `id`, which also knows users who are not in /etc/passwd, e.g. those of LDAP. */
function groupOf(name: string): number {
  return Number(execFileSync('id', ['-g', '--', name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
}

/** Node reads a number as an id, and a string as a name. */
function parseId(text: string): string | number {
  return /^\d+$/.test(text) ? Number(text) : text;
}
