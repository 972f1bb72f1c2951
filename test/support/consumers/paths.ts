/** The paths by which Telegraf and Zabbix select values in JSON: the part of each language that the shipped configurations use, by its documentation. */

/** GJSON (its SYNTAX.md, "Path structure" and "Escape character"): names separated by dots; `\.` is a dot within a name. */
export function byGjson(document: unknown, path: string): unknown {
  if (/[*?#|@!{}[\]()"]/.test(path.replace(/\\./g, ''))) throw new Error(`more than names: ${path}`);
  const names = path.match(/(?:\\.|[^\\.])+/g) ?? [];
  return names.map((name) => name.replace(/\\(.)/g, '$1')).reduce(member, document);
}

/** Zabbix' JSONPath (manual, "JSONPath functionality"): `$`, then `.name` or a quoted name in brackets. */
export function byJsonPath(document: unknown, path: string): unknown {
  const segment = /\.([A-Za-z_]\w*)|\.?\[(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)")\]/y;
  if (!path.startsWith('$')) throw new Error(`no JSONPath: ${path}`);
  let value = document;
  segment.lastIndex = 1;
  for (let at = 1; at < path.length; at = segment.lastIndex) {
    const found = segment.exec(path);
    if (found === null) throw new Error(`more than names: ${path}`);
    const [, plain, single, double] = found;
    value = member(value, plain ?? (single ?? double ?? '').replace(/\\(.)/g, '$1'));
  }
  return value;
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}
