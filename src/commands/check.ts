/** `d2-sidecar check`: says what a start would work with, and starts nothing. */
import { checkRestRules } from '../classify/classifier.ts';
import { toYaml } from '../config/effective.ts';
import { type ConfigSources, loadConfig } from '../config/load-config.ts';
import type { Output } from './output.ts';

/** Throws what a start would throw for its configuration. Warnings go to standard error, so that the output stays a configuration. */
export async function check(sources: ConfigSources, output: Output): Promise<number> {
  const { config, warnings } = await loadConfig(sources);
  // The classifier has the last word on rules at a start, so it has it here.
  checkRestRules(config.rest.rules);
  for (const warning of warnings) output.err(`d2-sidecar: warning: ${warning}\n`);
  output.out(await toYaml(config));
  return 0;
}
