/** Maximum number of parameters read, the rest is ignored. Tomcat has the same default (maxParameterCount). */
export const MAX_PARAMETERS = 10_000;

/**
 * All values of the named parameters in a form-encoded text, such as a query without its question mark, decoded:
 * `jsonp=cb&message=%5B%5D` gives `['cb']` and `['[]']` for `['jsonp', 'message']`. In order; empty without any.
 * Reads application/x-www-form-urlencoded of the URL standard like URLSearchParams, but makes strings only of the
 * wanted values: a text of 60 kB has up to 60,000 parameters.
 */
export function readParameters(text: string, names: readonly string[]): string[][] {
  const values: string[][] = names.map(() => []);
  const wanted = names.map((name) => Buffer.from(name));
  const bytes = Buffer.from(text);
  for (let at = 0, count = 0; at < bytes.length && count < MAX_PARAMETERS; count += 1) {
    const end = indexOfByte(bytes, AMPERSAND, at, bytes.length);
    const equals = indexOfByte(bytes, EQUALS, at, end);
    const index = wanted.findIndex((name) => isEncoded(name, bytes, at, equals));
    if (index >= 0) values[index]?.push(decode(bytes, Math.min(equals + 1, end), end));
    at = end + 1;
  }
  // A password must not stay in the memory that buffers share.
  bytes.fill(0);
  return values;
}

function indexOfByte(bytes: Buffer, byte: number, from: number, end: number): number {
  let at = from;
  while (at < end && bytes[at] !== byte) at += 1;
  return at;
}

/** Whether the bytes from `from` to `end` decode to `name`. */
function isEncoded(name: Buffer, bytes: Buffer, from: number, end: number): boolean {
  let at = from;
  for (let nth = 0; nth < name.length; nth += 1) {
    if (at >= end || decodedAt(bytes, at) !== name[nth]) return false;
    at += isEscape(bytes, at) ? 3 : 1;
  }
  return at === end;
}

/** Decodes in place: no byte is read again. Invalid escapes stay, and invalid UTF-8 becomes U+FFFD. */
function decode(bytes: Buffer, from: number, end: number): string {
  let length = from;
  for (let at = from; at < end; length += 1) {
    const width = isEscape(bytes, at) ? 3 : 1;
    bytes[length] = decodedAt(bytes, at);
    at += width;
  }
  return bytes.toString('utf8', from, length);
}

function decodedAt(bytes: Buffer, at: number): number {
  if (isEscape(bytes, at)) return digitAt(bytes, at + 1) * 16 + digitAt(bytes, at + 2);
  const byte = bytes[at] ?? 0;
  return byte === PLUS ? SPACE : byte;
}

function isEscape(bytes: Buffer, at: number): boolean {
  return bytes[at] === PERCENT && digitAt(bytes, at + 1) < 16 && digitAt(bytes, at + 2) < 16;
}

/** The value of a hexadecimal digit; more than 15 for anything else. */
function digitAt(bytes: Buffer, at: number): number {
  const byte = bytes[at] ?? 0;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : 255;
}

const AMPERSAND = 0x26;
const EQUALS = 0x3d;
const PERCENT = 0x25;
const PLUS = 0x2b;
const SPACE = 0x20;
