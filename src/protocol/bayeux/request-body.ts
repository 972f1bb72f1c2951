/** Messages in HTTP requests: the body of a POST (`long-polling`), or the query of a GET (`callback-polling`). */

/** Longest form that is read: parsing a form costs more than parsing JSON, and only old clients send forms. */
const MAX_FORM_CHARS = 65_536;

/**
 * The JSON texts of a POST's body, each a message or an array of them; see `MessageBatches`. It is JSON, or
 * form-encoded with parameters `message`. The type only decides which is tried first: some servers rely on it, others
 * ignore it.
 */
export function selectRequestTexts(contentType: string | undefined, body: string): readonly string[] {
  if (contentType === undefined || !FORM.test(contentType)) return isJson(body) ? [body] : readForm(body);
  const texts = readForm(body);
  return texts.length === 0 && isJson(body) ? [body] : texts;
}

/**
 * The JSON texts in the query of a GET: `jsonp=cb&message=%5B...%5D`, decoded as UTF-8. Undefined: no `message`.
 * `callback`: the function that the response calls, e.g. `_cometd_jsonp_0`; as the client wrote it, not validated.
 */
export function parseCallbackQuery(query: string) {
  const [texts = [], callbacks = []] = readParameters(query, ['message', 'jsonp']);
  return texts.length === 0 ? undefined : { callback: callbacks[0] || 'jsonpcallback', texts };
}

function readForm(body: string): readonly string[] {
  return body.length > MAX_FORM_CHARS ? [] : (readParameters(body, ['message'])[0] ?? []);
}

/** Bayeux has only arrays and objects. */
function isJson(body: string): boolean {
  return JSON_START.test(body);
}

const JSON_START = /^[ \t\r\n]*[[{]/;
const FORM = /^[ \t]*application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;

/**
 * The JSON text of a response's body. With `callback` the body may be a call of that function, `cb([...]);`, after a
 * comment, with which servers make it a script and nothing else. Comment and semicolon are optional. The Bayeux
 * Protocol 1.0, "The callback-polling response messages".
 */
export function selectResponseText(body: string, callback: string | undefined): string {
  // Servers send errors without the call of the function; some send everything without it.
  return callback === undefined ? body : (argumentOf(body, callback) ?? body);
}

/** The text between the parentheses; undefined if the text is not a call of `callback`. */
function argumentOf(body: string, callback: string): string | undefined {
  let text = body.trim();
  if (text.startsWith('/*')) {
    const commentEnd = text.indexOf('*/', 2);
    if (commentEnd < 0) return undefined;
    text = text.slice(commentEnd + 2).trimStart();
  }
  if (!text.startsWith(callback)) return undefined;
  text = text.slice(callback.length).trimStart();
  if (text.endsWith(';')) text = text.slice(0, -1).trimEnd();
  return text.length > 2 && text.startsWith('(') && text.endsWith(')') ? text.slice(1, -1) : undefined;
}

/** Maximum number of parameters read, the rest is ignored. Tomcat has the same default (maxParameterCount). */
export const MAX_PARAMETERS = 10_000;

const ESCAPE = /%([\da-f]{2})/gi;

/**
 * All decoded values of the named parameters, in order: `jsonp=cb&message=%5B%5D` gives `[['cb'], ['[]']]` for
 * `['jsonp', 'message']`. Reads like URLSearchParams, but makes strings only of the wanted values: a text of 60 kB has
 * up to 60,000 parameters.
 */
export function readParameters(text: string, names: readonly string[]): string[][] {
  const encoded = toBytes(text);
  const searched = encoded.slice(0, endOfLast(encoded));
  return names.map((name) => Array.from(searched.matchAll(patternOf(name)), ([, value = '']) => decode(value)));
}

/** UTF-8, a character for each byte. */
function toBytes(text: string): string {
  const bytes = Buffer.from(text);
  const characters = bytes.toString('latin1');
  // A password must not stay in the memory that buffers share.
  bytes.fill(0);
  return characters;
}

function endOfLast(encoded: string): number {
  let end = -1;
  for (let count = 0; count < MAX_PARAMETERS; count += 1) {
    end = encoded.indexOf('&', end + 1);
    if (end === -1) return encoded.length;
  }
  return end;
}

/** Each character of the name may be escaped; the value is captured. */
function patternOf(name: string): RegExp {
  const characters = Array.from(toBytes(name), (character) => {
    const hex = character.charCodeAt(0).toString(16).padStart(2, '0');
    const escaped = `%${hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)}`;
    if (character === '+') return escaped;
    return character === ' ' ? `(?:[ +]|${escaped})` : `(?:\\x${hex}|${escaped})`;
  });
  return new RegExp(`(?<![^&])${characters.join('')}(?:=([^&]*))?(?![^&])`, 'g');
}

/** Invalid escapes stay, and invalid UTF-8 becomes U+FFFD. */
function decode(encoded: string): string {
  const plain = encoded
    .replaceAll('+', ' ')
    .replace(ESCAPE, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
  const bytes = Buffer.from(plain, 'latin1');
  const decoded = bytes.toString('utf8');
  bytes.fill(0);
  return decoded;
}
