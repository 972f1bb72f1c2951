/** Reads cookies as Tomcat's Rfc6265CookieProcessor. No regular expressions: `RegExp.input` would keep the credential. */

/** More are of no use: a browser sends one for each path. */
const MAX_COOKIES = 8;

/** Values of the cookies called `name`, in order, without empty and invalid ones, of all lines (RFC 9113 §8.2.3). */
export function cookieValues(lines: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (const line of lines) {
    for (let at = 0; at < line.length && values.length < MAX_COOKIES; ) {
      const semicolon = line.indexOf(';', at);
      const end = semicolon < 0 ? line.length : semicolon;
      const value = valueIn(line, at, end, name);
      if (value !== undefined && value !== '') values.push(value);
      at = end + 1;
    }
  }
  return values;
}

/** The value of the cookie `name=value` between `start` and `end`, which is invalid with some characters. */
function valueIn(line: string, start: number, end: number, name: string): string | undefined {
  const nameAt = afterBlanks(line, start, end);
  if (!line.startsWith(name, nameAt)) return undefined;
  const equalsAt = afterBlanks(line, nameAt + name.length, end);
  if (equalsAt >= end || line.charCodeAt(equalsAt) !== EQUALS) return undefined;
  let from = afterBlanks(line, equalsAt + 1, end);
  let to = end;
  while (to > from && isBlank(line.charCodeAt(to - 1))) to -= 1;
  if (from < to && line.charCodeAt(from) === QUOTE) {
    from += 1;
    if (from < to && line.charCodeAt(to - 1) === QUOTE) to -= 1;
  }
  for (let at = from; at < to; at += 1) if (!isInValue(line.charCodeAt(at))) return undefined;
  return line.slice(from, to);
}

function afterBlanks(line: string, start: number, end: number): number {
  let at = start;
  while (at < end && isBlank(line.charCodeAt(at))) at += 1;
  return at;
}

function isBlank(unit: number): boolean {
  return unit === SPACE || unit === TAB;
}

function isInValue(unit: number): boolean {
  return unit > SPACE && unit !== QUOTE && unit !== COMMA && unit !== BACKSLASH && unit !== DELETE;
}

const TAB = 0x09;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const EQUALS = 0x3d;
const BACKSLASH = 0x5c;
const DELETE = 0x7f;
