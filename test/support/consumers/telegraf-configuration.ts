/** The TOML of the shipped Telegraf configuration: arrays of tables; keys with a string, number, boolean or list of strings. */

export interface Table {
  readonly [key: string]: string | number | boolean | readonly string[] | Table[];
}

type Mutable = { [key: string]: string | number | boolean | readonly string[] | Mutable[] };

/** E.g. `{ inputs: [{ http: [{ urls: [...], json_v2: [...] }] }] }`. Throws at any other line. */
export function parseTelegrafConfiguration(text: string): Table {
  const root: Mutable = {};
  let table = root;
  for (const raw of text.split('\n')) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const header = /^\[\[([\w.]+)\]\]$/.exec(line)?.[1];
    const [, key, value] = /^(\w+)\s*=\s*(.+)$/.exec(line) ?? [];
    if (header !== undefined) table = addTable(root, header.split('.'));
    else if (key !== undefined && value !== undefined && !(key in table)) table[key] = toValue(value);
    else throw new Error(`cannot be read: ${line}`);
  }
  return root;
}

/** A new element of the array at the end of the path, within the newest elements of its parents (TOML 1.0, "Array of Tables"). */
function addTable(root: Mutable, names: readonly string[]): Mutable {
  let at = root;
  for (const [i, name] of names.entries()) {
    const list = (at[name] ?? []) as Mutable[];
    at[name] = list;
    if (i === names.length - 1 || list.length === 0) list.push({});
    at = list.at(-1) as Mutable;
  }
  return at;
}

function toValue(text: string): string | number | boolean | readonly string[] {
  if (text === 'true' || text === 'false') return text === 'true';
  // A literal string keeps backslashes; a basic string is written as in JSON here.
  const literal = /^'([^']*)'$/.exec(text)?.[1];
  return literal ?? (JSON.parse(text) as string | number | readonly string[]);
}
