/** Compares a newly read configuration with the one in force: which keys can change now, and which wait. */
import { isDeepStrictEqual } from 'node:util';
import { ConfigError } from '../base/errors.ts';
import { buildConfig } from './config.ts';
import { findConflicts, type ParsedConfig } from './schema.ts';
import { type Key, listKeys } from './schema-walk.ts';
import { hasOwnCertificate } from './tls-schema.ts';
import { formatKey, isGroup, setAt, valueAt } from './written.ts';

/**
 * The configuration to put in force: as read, except for keys that wait for a restart. `changed`: keys that change now,
 * e.g. `['rest.rules']`; `waiting`: keys that differ but wait, e.g. `['listen.port']`. Names only: values may be secret.
 * Throws ConfigError if the old values of waiting keys contradict the new values of the others.
 */
export function mergeReloadedConfig(running: ParsedConfig, read: ParsedConfig) {
  const differing = findDiffering(listKeys(), running, read);
  const waiting = differing.filter((key) => mustWait(key, running, read));
  const parsed = structuredClone(read);
  for (const { place } of waiting) setAt(parsed, place, structuredClone(valueAt(running, place)));
  const names = waiting.map(({ path }) => formatKey(path));
  const conflicts = findConflicts(parsed);
  if (conflicts.length > 0) {
    const why = ` (${names.join(', ')} cannot change without a restart)`;
    throw new ConfigError(conflicts.map(({ line }) => line + why).join('\n'));
  }
  const changed = differing.filter((key) => !waiting.includes(key)).map(({ path }) => formatKey(path));
  return { config: buildConfig(parsed), parsed, changed, waiting: names };
}

/** The innermost keys that differ; a whole group if it appears or disappears. */
function findDiffering(keys: readonly Key[], before: ParsedConfig, after: ParsedConfig): readonly Key[] {
  const differing: Key[] = [];
  for (const key of keys) {
    const [old, now] = [valueAt(before, key.place), valueAt(after, key.place)];
    const isWhole = !keys.some((other) => isBelow(other, key)) || !isGroup(old) || !isGroup(now);
    if (!isWhole || isDeepStrictEqual(old, now) || differing.some((outer) => isBelow(key, outer))) continue;
    differing.push(key);
  }
  return differing;
}

function isBelow({ path }: Key, outer: Key): boolean {
  return path.length > outer.path.length && outer.path.every((name, index) => path[index] === name);
}

/**
 * Follows `reload` of the key's schema. TLS files can change at any time; whether a port speaks TLS, and from whom
 * it requests a certificate, cannot.
 */
function mustWait({ path, reload }: Key, running: ParsedConfig, read: ParsedConfig): boolean {
  if (reload === 'restart') return true;
  const [section, group] = path;
  if (group !== 'tls') return false;
  if (section === 'upstream') return running.upstream.url?.isSecure !== read.upstream.url?.isSecure;
  if (section !== 'listen' && section !== 'monitor') return false;
  const [before, after] = [running[section].tls, read[section].tls];
  return hasOwnCertificate(before) !== hasOwnCertificate(after) || before.clientAuth !== after.clientAuth;
}
