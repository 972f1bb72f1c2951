/** `d2-sidecar check`: says what a start would work with, and starts nothing. */
import { toYaml } from '../config/effective.ts';
import { type ConfigSources, loadConfig } from '../config/load-config.ts';
import type { Output } from './output.ts';

/** Throws what loadConfig throws. Warnings go to standard error, so that the output stays a configuration. */
export async function check(sources: ConfigSources, output: Output): Promise<number> {
  const { config, warnings } = await loadConfig(sources);
  for (const warning of warnings) output.err(`d2-sidecar: warning: ${warning}\n`);
  output.out(await toYaml(config));
  return 0;
}
