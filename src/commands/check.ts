/** `d2-sidecar check`: says what a start would work with, and starts nothing. */
import { AccessList } from '../access/access-list.ts';
import { checkRestRules } from '../classify/classifier.ts';
import { checkCometRules } from '../classify/comet-classifier.ts';
import { systemClock } from '../clock.ts';
import { toYaml } from '../config/effective.ts';
import { type ConfigSources, loadConfig } from '../config/load-config.ts';
import { findObstacle } from '../state/read-state.ts';
import { SidecarTls } from '../tls/sidecar-tls.ts';
import type { Output } from './output.ts';

/** Throws what a start would throw for its configuration. Warnings go to standard error, so that the output stays a configuration. */
export async function check(sources: ConfigSources, output: Output): Promise<number> {
  const { config, warnings } = await loadConfig(sources);
  // The classifier has the last word on rules at a start, so it has it here.
  checkRestRules(config.rest.rules);
  checkCometRules(config.comet.rules);
  const warn = (warning: unknown) => output.err(`d2-sidecar: warning: ${String(warning)}\n`);
  warnings.forEach(warn);
  const silent = () => undefined;
  await SidecarTls.open(config, { clock: systemClock, logger: { debug: silent, info: silent, warn, error: warn } });
  // A start goes on without it, so that a volume that is missing keeps nobody from working.
  const obstacle = config.state.file === undefined ? undefined : await findObstacle(config.state.file);
  if (obstacle !== undefined) warn(`state.file: cannot be written: ${obstacle}`);
  const { auth } = config.monitor;
  const readers = typeof auth === 'object' ? (await AccessList.open(auth)).readers : [];
  output.out(await toYaml(config));
  // As comments, so that what is printed stays a configuration.
  for (const { name, role, kind } of readers) output.out(`# monitor.auth: ${name}, ${role}, by ${kind}\n`);
  return 0;
}
