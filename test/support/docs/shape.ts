/** Whether an output in a document still matches the command's output, ignoring numbers, times and names. */

/** The part of `shown` that is not in any of the outputs; undefined if all is. */
export function faultOfShown(language: string, shown: string, outputs: readonly string[]): string | undefined {
  if (language !== 'json') {
    const printed = new Set(outputs.flatMap((output) => output.split('\n').map(toSkeleton)));
    const missing = shown
      .split('\n')
      .find((line) => !/^\s*(?:\.\.\.|…|# ?\.\.\.)?\s*$/.test(line) && !printed.has(toSkeleton(line)));
    return missing === undefined ? undefined : `no command before it prints ${JSON.stringify(missing)}`;
  }
  const wanted = toPaths(JSON.parse(shown));
  const closest = outputs.map((output) => {
    const printed = new Set(toPaths(parseJson(output)));
    return wanted.filter((path) => !printed.has(path));
  });
  if (closest.some((missing) => missing.length === 0)) return undefined;
  const [missing = []] = closest.sort((a, b) => a.length - b.length);
  return `no command before it prints ${missing.slice(0, 5).join(', ')}`;
}

/** A line without the parts that differ from run to run: numbers, ids, commits, folders. */
function toSkeleton(line: string): string {
  return line
    .trim()
    .replace(/"(?:[^"\\]|\\.)*"/g, (text) => (/\d|[./:]/.test(text) ? '"…"' : text))
    .replace(/\b[0-9a-f]{8,}(?:-[0-9a-f]+)*\b/g, '…')
    .replace(/\/[\w./-]+\/(?=[\w.-]+)/g, '/')
    .replace(/\d+(?:\.\d+)*(?:e[+-]?\d+)?/g, '0');
}

/** `[].userName`, `timers.rpc.<name>.p99`: every path in it, with one name for all procedures and objects. */
function toPaths(value: unknown, at = ''): readonly string[] {
  if (Array.isArray(value)) return [...new Set(value.flatMap((item) => toPaths(item, `${at}[]`)))];
  if (typeof value !== 'object' || value === null) return [at];
  return Object.entries(value).flatMap(([name, inner]) =>
    toPaths(inner, `${at}.${name.replace(/^(rpc|sba|object)\..+$/, '$1.<name>')}`),
  );
}

/** The message of what `act` throws; undefined if nothing. */
export function messageOf(act: () => unknown): string | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
