/** Maximum number of parameters read, the rest is ignored. Tomcat has the same default (maxParameterCount). */
export const MAX_PARAMETERS = 10_000;

/** Longest name that is decoded, in characters as written: longer than any name used here, fully escaped. */
const MAX_NAME_CHARS = 64;

/**
 * All values of the named parameters in a form-encoded text, such as a query without its question mark, decoded:
 * `jsonp=cb&message=%5B%5D` gives `['cb']` and `['[]']` for `['jsonp', 'message']`. In order; empty without any.
 * Reads application/x-www-form-urlencoded of the URL standard like URLSearchParams, but without an object for
 * every parameter.
 */
export function readParameters(text: string, names: readonly string[]): string[][] {
  const values: string[][] = names.map(() => []);
  let at = 0;
  for (let count = 0; at < text.length && count < MAX_PARAMETERS; count += 1) {
    const next = text.indexOf('&', at);
    const end = next < 0 ? text.length : next;
    const pair = text.slice(at, end);
    const equals = pair.indexOf('=');
    const name = equals < 0 ? pair : pair.slice(0, equals);
    if (name.length <= MAX_NAME_CHARS) {
      const index = names.indexOf(decodeFormText(name));
      if (index >= 0) values[index]?.push(equals < 0 ? '' : decodeFormText(pair.slice(equals + 1)));
    }
    at = end + 1;
  }
  return values;
}

function decodeFormText(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    // Slower, but keeps invalid escapes, where decodeURIComponent refuses the whole text.
    return new URLSearchParams(`v=${text}`).get('v') ?? '';
  }
}
