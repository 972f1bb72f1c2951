/** The configuration as written, before checks: file, environment and flags merged into groups, with origins. */

export type Group = { [name: string]: unknown };

export interface Layer {
  readonly group: Group;
  /** The origin of the value at a path, for messages: `sidecar.yaml`, `D2_SIDECAR_LISTEN_PORT`, `--listen`. */
  readonly origin: (path: readonly string[]) => string;
}

export class Written {
  readonly group: Group = createGroup();
  readonly #layers: Layer[] = [];

  /** Merges `layer` over the earlier ones: groups are merged, everything else (lists too) is replaced. */
  add(layer: Layer): void {
    merge(this.group, layer.group, []);
    this.#layers.unshift(layer);
  }

  /** Where the value at `path`, or the group or list around it, was written; undefined for a default. */
  originOf(path: readonly (string | number)[]): string | undefined {
    for (let length = path.length; length > 0; length--) {
      const at = path.slice(0, length);
      const layer = this.#layers.find(({ group }) => valueAt(group, at) != null);
      if (layer !== undefined) return layer.origin(at.map(String));
    }
    return undefined;
  }
}

function merge(under: Group, over: Group, path: readonly string[]): void {
  for (const [name, value] of Object.entries(over)) {
    // A key without a value, such as a group whose lines are all commented out, counts as absent.
    if (value == null) continue;
    if (isGroup(value)) {
      const inner = under[name];
      const group = isGroup(inner) ? inner : expandGroup([...path, name], inner);
      under[name] = group;
      merge(group, value, [...path, name]);
    } else {
      under[name] = value;
    }
  }
}

/**
 * `metrics.maxNames: 500` below `metrics.maxNames.rpc: 9` is 9, 500 and 500. `forwarded: replace` is its `addresses`.
 */
function expandGroup(path: readonly string[], value: unknown): Group {
  const group = createGroup();
  if (formatKey(path) === 'forwarded' && typeof value === 'string') group.addresses = value;
  if (formatKey(path) === 'metrics.maxNames' && typeof value === 'number') {
    for (const kind of ['rpc', 'sba', 'object']) group[kind] = value;
  }
  return group;
}

/** Without a prototype, so that a key called `constructor` or `__proto__` is an ordinary key. */
export function createGroup(): Group {
  return Object.create(null) as Group;
}

export function isGroup(value: unknown): value is Group {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function setAt(group: Group, path: readonly string[], value: unknown): void {
  let inner = group;
  for (const name of path.slice(0, -1)) {
    const next = inner[name];
    const below = isGroup(next) ? next : createGroup();
    inner[name] = below;
    inner = below;
  }
  inner[path.at(-1) ?? ''] = value;
}

export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  const partOf = (found: unknown, step: PropertyKey) =>
    typeof found === 'object' && found !== null ? (found as Record<PropertyKey, unknown>)[step] : undefined;
  return path.reduce(partOf, value);
}

/** `['rest', 'rules', 0, 'name']` to `rest.rules[0].name`. */
export function formatKey(path: readonly PropertyKey[]): string {
  return path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${String(step)}`))
    .join('');
}
