/** Compares a configuration that was read again with the one in force: which keys can change now, and which wait. */
import { isDeepStrictEqual } from 'node:util';
import { ConfigError } from '../base/errors.ts';
import { buildConfig, findConflicts } from './build-config.ts';
import type { Config } from './config.ts';
import { RESTART_KEYS } from './live-keys.ts';
import type { ParsedConfig } from './schema.ts';
import { listKeys } from './schema-walk.ts';
import { isGroup, setAt, toKeyText, valueAt } from './written.ts';

export interface ReloadedConfig {
  /** The configuration to put in force: as read, except for `waiting`. */
  readonly config: Config;
  /** The same by its keys, to compare with the next reading. */
  readonly parsed: ParsedConfig;
  /** Keys that change now, e.g. `['rest.rules']`. Names only: values may be secret. */
  readonly changed: readonly string[];
  /** Keys that differ, too, but wait for the next start, e.g. `['listen.port']`. */
  readonly waiting: readonly string[];
}

/** Throws ConfigError if the keys that wait for a restart contradict those that do not. */
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

/** The keys that differ, as exactly as possible: a key inside a group, or a group that appears or disappears. */
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

/** TLS files can change at any time. Whether a port speaks TLS, and from whom it requests a certificate, cannot. */
function mustWait(path: Path, running: ParsedConfig, read: ParsedConfig): boolean {
  if (RESTART_KEYS.has(toKeyText(path))) return true;
  const [section, group] = path;
  if (group !== 'tls') return false;
  if (section === 'upstream') return running.upstream.url?.isSecure !== read.upstream.url?.isSecure;
  if (section !== 'listen' && section !== 'monitor') return false;
  const [before, after] = [running[section].tls, read[section].tls];
  return (before.certFile === undefined) !== (after.certFile === undefined) || before.clientAuth !== after.clientAuth;
}
