/** A configuration that was read again, beside the one that a sidecar runs with: what of it can hold at once, and what cannot. */
import { isDeepStrictEqual } from 'node:util';
import { ConfigError } from '../base/errors.ts';
import { buildConfig, findConflicts } from './build-config.ts';
import type { Config } from './config.ts';
import { RESTART_KEYS } from './live-keys.ts';
import type { ParsedConfig } from './schema.ts';
import { listKeys } from './schema-walk.ts';
import { isGroup, setAt, toKeyText, valueAt } from './written.ts';

export interface ReloadedConfig {
  /** What is to hold: as read, but for `waiting`. */
  readonly config: Config;
  /** The same, for the next reading to be compared with. */
  readonly parsed: ParsedConfig;
  /** Keys whose values are others from now on, e.g. `['rest.rules']`. Names only: values may be secret. */
  readonly changed: readonly string[];
  /** Keys whose values are others as well, but hold from the next start on, e.g. `['listen.port']`. */
  readonly waiting: readonly string[];
}

/** Throws ConfigError where what waits for a restart and what does not contradict each other. */
export function toReloadedConfig(running: ParsedConfig, read: ParsedConfig): ReloadedConfig {
  const paths = listKeys().map(({ path }) => path);
  const differing = findDiffering(paths, running, read);
  const waiting = differing.filter((path) => mustWait(path, running, read));
  const parsed = structuredClone(read);
  for (const path of waiting) setAt(parsed, path, structuredClone(valueAt(running, path)));
  const names = waiting.map(toKeyText);
  const conflicts = findConflicts(parsed);
  if (conflicts.length > 0) {
    const why = ` (as long as ${names.join(', ')} cannot change, which takes a restart)`;
    throw new ConfigError(conflicts.map(({ line }) => line + why).join('\n'));
  }
  const changed = differing.filter((path) => !waiting.includes(path)).map(toKeyText);
  return { config: buildConfig(parsed), parsed, changed, waiting: names };
}

type Path = readonly string[];

/** The keys that differ, as exactly as can be said: one inside a group, or the group where it was none before or is none now. */
function findDiffering(paths: readonly Path[], before: ParsedConfig, after: ParsedConfig): readonly Path[] {
  const differing: Path[] = [];
  for (const path of paths) {
    const [old, now] = [valueAt(before, path), valueAt(after, path)];
    const isWhole = !paths.some((other) => isBelow(other, path)) || !isGroup(old) || !isGroup(now);
    if (!isWhole || isDeepStrictEqual(old, now) || differing.some((outer) => isBelow(path, outer))) continue;
    differing.push(path);
  }
  return differing;
}

function isBelow(path: Path, outer: Path): boolean {
  return path.length > outer.length && outer.every((name, index) => path[index] === name);
}

/** Files of TLS can be others at any time; whether a port speaks TLS, and whom it asks for a certificate, cannot. */
function mustWait(path: Path, running: ParsedConfig, read: ParsedConfig): boolean {
  if (RESTART_KEYS.has(toKeyText(path))) return true;
  const [section, group] = path;
  if (group !== 'tls') return false;
  if (section === 'upstream') return running.upstream.url?.isSecure !== read.upstream.url?.isSecure;
  if (section !== 'listen' && section !== 'monitor') return false;
  const [before, after] = [running[section].tls, read[section].tls];
  return (before.certFile === undefined) !== (after.certFile === undefined) || before.clientAuth !== after.clientAuth;
}
