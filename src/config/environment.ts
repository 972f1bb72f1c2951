/**
 * Configuration from environment variables: `D2_SIDECAR_` and the key's path. Kubernetes puts variables with the same
 * prefix into every Pod of a namespace that has a Service called d2-sidecar or d2-sidecar-monitor; this file recognises
 * those.
 */
import { ConfigError } from '../base/errors.ts';
import type { Mistake } from './explain.ts';
import { nearest } from './nearest.ts';
import { encodeVariable, type Key, listKeys, VARIABLE_PREFIX } from './schema-walk.ts';
import { createGroup, type Layer, setAt } from './written.ts';
import { parseYaml } from './yaml-text.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export const CONFIG_VARIABLE = `${VARIABLE_PREFIX}CONFIG`;

/** https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables */
const SERVICE_LINK_NAME =
  /_SERVICE_HOST$|_SERVICE_PORT(?:_[A-Z0-9_]+)?$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/;
const SERVICE_LINK_VALUE = /^(?:tcp|udp|sctp):\/\//i;

/** One layer for each variable, later ones overwrite earlier ones. Warnings have names of variables, never values. */
export async function readEnvironment(env: Environment) {
  const keys = new Map(listKeys().map((key) => [key.variable, key]));
  const layers: Layer[] = [];
  const warnings: string[] = [];
  const mistakes: Mistake[] = [];
  const names = Object.keys(env).filter((name) => name.startsWith(VARIABLE_PREFIX) && name !== CONFIG_VARIABLE);
  // Sorted, so that a group (METRICS_MAX_NAMES) comes before its parts (METRICS_MAX_NAMES_RPC), which override it.
  for (const name of names.sort()) {
    const text = env[name];
    // Templates may leave a variable empty; it then counts as absent.
    if (text === undefined || text.trim() === '') continue;
    const key = keys.get(name);
    const removed = [...REMOVED.keys()].find((one) => encodeVariable([one]) === name);
    if (removed !== undefined) {
      layers.push({ group: { [removed]: text }, origin: () => name });
    } else if (key === undefined) {
      warnings.push(...warnUnknown(name, text, keys));
    } else if (name.endsWith('_PORT') && SERVICE_LINK_VALUE.test(text)) {
      warnings.push(
        `${name} is ignored: Kubernetes set it for a Service of that name (enableServiceLinks: false prevents it)`,
      );
    } else {
      try {
        const group = createGroup();
        setAt(group, key.path, await parseValue(text, key));
        layers.push({ group, origin: () => name });
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        mistakes.push({ path: key.path, line: error.message });
      }
    }
  }
  return { layers, warnings, mistakes };
}

function warnUnknown(name: string, text: string, keys: ReadonlyMap<string, Key>): readonly string[] {
  if (SERVICE_LINK_NAME.test(name) || (name.endsWith('_PORT') && SERVICE_LINK_VALUE.test(text))) return [];
  const near = nearest(
    name.slice(VARIABLE_PREFIX.length),
    [...keys.keys()].map((known) => known.slice(VARIABLE_PREFIX.length)),
  );
  return [
    `${name} is ignored: there is no such key${near === undefined ? '' : `; did you mean ${VARIABLE_PREFIX}${near}?`}`,
  ];
}

/** Text that cannot be converted stays text, so that the schema refuses it with key and value. */
async function parseValue(text: string, { form, path, variable }: Key): Promise<unknown> {
  const word = text.trim().toLowerCase();
  if (form === 'number' && /^-?\d+(?:\.\d+)?$/.test(word)) return Number(text);
  if (form === 'boolean' && (word === 'true' || word === 'false')) return word === 'true';
  if (form === 'texts') return text.split(',').map((item) => item.trim());
  return form === 'yaml' ? await parseYaml(text, variable, path) : text;
}

/**
 * Keys of earlier versions that are gone, each with the reason; at the top only. A configuration that still has one
 * works: an upgrade must not stop traffic.
 */
const REMOVED: ReadonlyMap<string, string> = new Map([['dataPath', 'all requests take one path now']]);

/** Deletes the removed keys from the layers. Returns a warning for each key, e.g. `dataPath is ignored, since ...`. */
export function deleteRemovedKeys(layers: readonly Layer[]): readonly string[] {
  return [...REMOVED].flatMap(([name, reason]) => {
    const places = layers.filter(({ group }) => Object.hasOwn(group, name)).map(({ origin }) => origin([name]));
    for (const { group } of layers) Reflect.deleteProperty(group, name);
    return places.length === 0 ? [] : [`${name} is ignored, since ${reason}: delete it (${places.join(', ')})`];
  });
}
