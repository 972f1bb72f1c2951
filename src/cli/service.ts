/**
 * `d2-sidecar service`: the sidecar as a service of Windows. `d2-sidecar-service.exe` (config/windows/service.c) does it,
 * since Node.js does not speak the protocol of services.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { win32 } from 'node:path';
import { isSea } from 'node:sea';
import { ConfigError } from '../base/errors.ts';
import { platform } from '../base/platform/platform.ts';
import type { Environment } from '../config/environment.ts';
import type { FlagsOf } from './command-line.ts';

/** Exit code 1 if Windows refuses, or if the service does not run (`status`). Throws ConfigError, as a start does. */
export async function service({ action, flags }: FlagsOf<'service'>, env: Environment): Promise<number> {
  if (platform.serviceManager !== 'windows')
    throw new ConfigError('service: only for Windows; here systemd runs the sidecar', {
      advice: 'See docs/install.md.',
    });
  const host = win32.join(win32.dirname(process.execPath), 'd2-sidecar-service.exe');
  if (!existsSync(host))
    throw new ConfigError(`service: ${host} is missing`, { advice: 'The zip for Windows has it.' });
  const words = listServiceWords(action, flags.config, env, isSea() ? [] : process.argv.slice(1, 2));
  if (action === 'install') {
    const { loadConfig } = await import('../config/load-config.ts');
    // The service has other environment variables.
    await loadConfig({ flags: { config: words.at(-1) }, env: {} });
  }
  const [code] = (await once(spawn(host, words, { stdio: 'inherit', windowsHide: true }), 'exit')) as [number];
  return code;
}

/** Arguments of the host, e.g. `install LOG PROGRAM --config FILE`. `script`: what node.exe runs; empty for an executable. */
export function listServiceWords(
  action: FlagsOf<'service'>['action'],
  config: string | undefined,
  { ProgramData = 'C:\\ProgramData' }: Environment,
  script: readonly string[],
): readonly string[] {
  if (action !== 'install') return [action];
  const folder = win32.join(ProgramData, 'd2-sidecar');
  // The service runs in another folder.
  const file = win32.resolve(config ?? win32.join(folder, 'sidecar.yaml'));
  return [action, win32.join(folder, 'd2-sidecar.log'), process.execPath, ...script, '--config', file];
}
