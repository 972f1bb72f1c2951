/** Keys of earlier versions that are gone. A configuration that still has one works: an upgrade must not stop traffic. */
import { toVariable } from './schema-walk.ts';
import type { Group } from './written.ts';

/** Keys at the top, each with the reason. */
const REMOVED: ReadonlyMap<string, string> = new Map([['dataPath', 'all requests take one path now']]);

export class RemovedKeys {
  readonly #places = new Map<string, string[]>();

  /** Takes the removed keys out of what was written at `origin`. */
  take(group: Group, origin: (path: readonly string[]) => string): void {
    for (const name of REMOVED.keys()) {
      if (!Object.hasOwn(group, name)) continue;
      Reflect.deleteProperty(group, name);
      const places = this.#places.get(name) ?? [];
      this.#places.set(name, [...places, origin([name])]);
    }
  }

  /** One for each key, e.g. `dataPath is ignored: ... (sidecar.yaml)`. */
  get warnings(): readonly string[] {
    return Array.from(this.#places, ([name, places]) => {
      return `${name} is ignored, since ${REMOVED.get(name)}: delete it (${places.join(', ')})`;
    });
  }
}

/** The removed key that an environment variable sets. */
export function removedKeyOf(variable: string): string | undefined {
  return [...REMOVED.keys()].find((name) => toVariable([name]) === variable);
}
