/** Keys of earlier versions that are gone. A configuration that still has one works: an upgrade must not stop traffic. */
import { encodeVariable } from './schema-walk.ts';
import type { Layer } from './written.ts';

/** Keys at the top, each with the reason. */
const REMOVED: ReadonlyMap<string, string> = new Map([['dataPath', 'all requests take one path now']]);

/** Deletes the removed keys from the layers. Returns a warning for each key, e.g. `dataPath is ignored, since ...`. */
export function deleteRemovedKeys(layers: readonly Layer[]): readonly string[] {
  return [...REMOVED].flatMap(([name, reason]) => {
    const places = layers.filter(({ group }) => Object.hasOwn(group, name)).map(({ origin }) => origin([name]));
    for (const { group } of layers) Reflect.deleteProperty(group, name);
    return places.length === 0 ? [] : [`${name} is ignored, since ${reason}: delete it (${places.join(', ')})`];
  });
}

/** The removed key that an environment variable sets. */
export function removedKeyOf(variable: string): string | undefined {
  return [...REMOVED.keys()].find((name) => encodeVariable([name]) === variable);
}
