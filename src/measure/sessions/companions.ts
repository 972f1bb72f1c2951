/**
 * Finds a request's companions: what the server may accept it for without checking the credential. Judges by what
 * servers may read as a login, not by RFC 6265: Tomcat tries each cookie of the name, in all lines, quoted or not, and
 * a path parameter (org.apache.catalina.connector.CoyoteAdapter). No regular expressions: `RegExp.input` would keep the
 * last credential.
 */

/** The parts of a request head that can hold a login. Values are latin1. */
export interface CompanionFields {
  /** E.g. `/smartWeb/api/rest/v0/d2/rpc/E.Demo/Test;jsessionid=1A2B?x=1`. */
  readonly target: string;
  field(name: string): string | undefined;
  fields(name: string): readonly string[];
}

/** A request with more logins begins no unverified session. No browser keeps that many for one path. */
export const MAX_LOGINS = 8;

/** The path parameter of servlet containers (Jakarta Servlet 6.0 §7.1.3). */
const SESSION_PARAMETER = 'jsessionid';

/**
 * Undefined for a credential alone. Cookies whose names contain `cookieName` count, as `JSESSIONIDSSO`, in any case.
 * `logins`: values of login cookies and path parameters, sorted; at most `MAX_LOGINS` + 1. Empty if none could be parsed.
 */
export function companionsOf(request: CompanionFields, cookieName: string) {
  const name = cookieName.toLowerCase();
  const logins = new Set<string>();
  const hasCookie = addValues(logins, request.fields('cookie').join(';'), name, COMMA);
  const hasParameter = addParameters(logins, request.target, name);
  const others = otherCredentialsOf(request);
  const hasOthers = others.apiKeys.length + others.authorizations.length > 0;
  return hasCookie || hasParameter || hasOthers ? { logins: [...logins].sort(), ...others } : undefined;
}

/** Every path parameter counts as a companion, since we do not know which ones the server reads. */
function addParameters(logins: Set<string>, target: string, name: string): boolean {
  const query = target.indexOf('?');
  const end = query < 0 ? target.length : query;
  const start = target.indexOf(';');
  if (start < 0 || start >= end) return false;
  const parameters = target.slice(start + 1, end);
  addValues(logins, parameters, SESSION_PARAMETER, SLASH);
  if (name !== SESSION_PARAMETER) addValues(logins, parameters, name, SLASH);
  return true;
}

/**
 * Adds the values of all parts of `text` whose name contains `name`; false if that is nowhere. Parts end at a semicolon
 * or at `other`. It jumps from one `name` to the next, since a text of 60 kB has up to 60,000 parts.
 */
function addValues(logins: Set<string>, text: string, name: string, other: number): boolean {
  const isSeparator = (code: number) => code === SEMICOLON || code === other;
  const lower = text.toLowerCase();
  const first = lower.indexOf(name);
  for (let at = first, end = 0; at >= 0 && logins.size <= MAX_LOGINS; at = lower.indexOf(name, end)) {
    let start = at;
    while (start > end && !isSeparator(text.charCodeAt(start - 1))) start -= 1;
    end = at;
    while (end < text.length && !isSeparator(text.charCodeAt(end))) end += 1;
    const part = text.slice(start, end);
    const equals = part.indexOf('=');
    if (equals < 0 || !part.slice(0, equals).toLowerCase().includes(name)) continue;
    const value = part.slice(equals + 1).trim();
    const isQuoted = value.length > 1 && value.startsWith('"') && value.endsWith('"');
    const login = isQuoted ? value.slice(1, -1).trim() : value;
    if (login !== '') logins.add(login);
  }
  return first >= 0;
}

/** All except the one that names the user: the first `Authorization` if it is Basic, else the first application key. */
function otherCredentialsOf(request: CompanionFields) {
  const authorizations = request.fields('authorization');
  const apiKeys = request.fields('x-api-key');
  const [named] = isBasic(authorizations[0]) ? authorizations : apiKeys;
  const isOther = (value: string) => value !== named && value !== '';
  return { apiKeys: apiKeys.filter(isOther), authorizations: authorizations.filter(isOther) };
}

/** Whether an `Authorization` value has the scheme Basic (RFC 7617 §2). */
export function isBasic(authorization: string | undefined): authorization is string {
  if (authorization === undefined) return false;
  return authorization.startsWith('Basic ') || authorization.slice(0, BASIC.length).toLowerCase() === BASIC;
}

export const BASIC = 'basic ';
const SEMICOLON = 0x3b;
const COMMA = 0x2c;
const SLASH = 0x2f;

/** More are of no use: a browser sends one for each path. */
const MAX_COOKIES = 8;

/**
 * Values of the cookies called `name`, in order, without empty and invalid ones, of all lines (RFC 9113 §8.2.3). Read as
 * by Tomcat's Rfc6265CookieProcessor.
 */
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
  for (let at = from; at < to; at += 1) {
    const unit = line.charCodeAt(at);
    if (unit <= SPACE || unit === QUOTE || unit === COMMA || unit === BACKSLASH || unit === DELETE) return undefined;
  }
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

const TAB = 0x09;
const SPACE = 0x20;
const QUOTE = 0x22;
const EQUALS = 0x3d;
const BACKSLASH = 0x5c;
const DELETE = 0x7f;
