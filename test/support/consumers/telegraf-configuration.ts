/** The TOML of the shipped Telegraf configuration: arrays of tables; keys with a string, number, boolean or list of strings. */

export interface Table {
  [key: string]: string | number | boolean | readonly string[] | Table[];
}

/** E.g. `{ inputs: [{ http: [{ urls: [...], json_v2: [...] }] }] }`. Throws at any other line. */
export function parseTelegrafConfiguration(text: string): Table {
  const root: Table = {};
  let table = root;
  for (const line of text.split('\n').map((raw) => raw.trim())) {
    if (line === '' || line.startsWith('#')) continue;
    const header = /^\[\[([\w.]+)\]\]$/.exec(line)?.[1];
    const [, key, value] = /^(\w+)\s*=\s*(.+)$/.exec(line) ?? [];
    if (header !== undefined) table = addTable(root, header.split('.'));
    else if (key !== undefined && value !== undefined && !(key in table)) {
      // A literal string keeps backslashes; other values are written as in JSON here.
      table[key] = /^'([^']*)'$/.exec(value)?.[1] ?? JSON.parse(value);
    } else throw new Error(`cannot be read: ${line}`);
  }
  return root;
}

/** A new element of the array at the end of the path, within the newest elements of its parents (TOML 1.0, "Array of Tables"). */
function addTable(root: Table, names: readonly string[]): Table {
  let at = root;
  for (const [i, name] of names.entries()) {
    const list = (at[name] ?? []) as Table[];
    at[name] = list;
    if (i === names.length - 1 || list.length === 0) list.push({});
    at = list.at(-1) as Table;
  }
  return at;
}
