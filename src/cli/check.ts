/** `d2-sidecar check`: prints the configuration that a start would use, and starts nothing; with `--connect` tries the upstream. */

import { ConfigError, StartError } from '../base/errors.ts';
import { describeFileError } from '../base/trusted-file.ts';
import type { Config } from '../config/config.ts';
import { formatYaml } from '../config/effective.ts';
import { CONFIG_VARIABLE } from '../config/environment.ts';
import { type ConfigSources, loadConfig, readConfigFile } from '../config/load-config.ts';
import { becomeUser } from './become-user.ts';
import { checkFiles } from './check-files.ts';
import { findService, type Service } from './installed-service.ts';
import type { Output } from './output.ts';

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
