/**
 * The JSON text of a response's body, which the caller has decoded as UTF-8. With `callback` the body may be a call of
 * that function, `cb([...]);`, after an optional comment; then its only argument is the JSON text.
 *
 * Servers send the comment so that the body cannot be taken for anything but a script. The semicolon is optional too. A
 * callback other than the requested one is not read. The Bayeux Protocol 1.0, "The callback-polling response messages".
 */
export function toResponseText(body: string, callback: string | undefined): string {
  // Servers send errors without the call of the function; some send everything without it.
  return callback === undefined ? body : (toArgument(body, callback) ?? body);
}

/** The text between the parentheses; undefined if the text is not a call of `callback`. */
function toArgument(body: string, callback: string): string | undefined {
  let at = skipSpace(body, 0);
  if (body.startsWith('/*', at)) {
    const commentEnd = body.indexOf('*/', at + 2);
    if (commentEnd < 0) return undefined;
    at = skipSpace(body, commentEnd + 2);
  }
  if (!body.startsWith(callback, at)) return undefined;
  at = skipSpace(body, at + callback.length);
  if (body.charCodeAt(at) !== OPEN) return undefined;
  let end = backOverSpace(body, body.length);
  if (body.charCodeAt(end - 1) === SEMICOLON) end = backOverSpace(body, end - 1);
  if (end - 1 <= at || body.charCodeAt(end - 1) !== CLOSE) return undefined;
  return body.slice(at + 1, end - 1);
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

function backOverSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at - 1))) at -= 1;
  return at;
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

const OPEN = 0x28;
const CLOSE = 0x29;
const SEMICOLON = 0x3b;
