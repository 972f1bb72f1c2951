/**
 * What a request brings beside the credential that names its user. The server may have accepted the request for any of it, and
 * may never have looked at the credential, so an accepted request proves a credential only where there is nothing of this.
 *
 * Judged by what servers could take for a login, not by what RFC 6265 allows. Tomcat tries each cookie of the name, in all
 * lines, quoted or not, and a path parameter (org.apache.catalina.connector.CoyoteAdapter).
 *
 * No regular expressions here: `RegExp.input` would keep the last credential.
 */

/** A request's head as far as it can hold a login. Values are latin1. */
export interface CompanionFields {
  /** E.g. `/smartWeb/api/rest/v0/d2/rpc/E.Demo/Test;jsessionid=1A2B?x=1`. */
  readonly target: string;
  field(name: string): string | undefined;
  fields(name: string): readonly string[];
}

export interface Companions {
  /** Values of login cookies and of session ids in the path: each once, sorted. May be empty where a login was too odd to be read. */
  readonly logins: readonly string[];
  /** Application keys beside Basic, or beside another key. */
  readonly apiKeys: readonly string[];
  /** Further lines of `Authorization`. */
  readonly authorizations: readonly string[];
}

/** The path parameter of servlet containers (Jakarta Servlet 6.0 §7.1.3). */
const SESSION_PARAMETER = 'jsessionid';

/**
 * Undefined where the credential stands alone. `cookieName`: of the login's cookie, e.g. `JSESSIONID`; cookies whose names
 * contain it count as well (`JSESSIONIDSSO`), in any case of letters.
 */
export function companionsOf(request: CompanionFields, cookieName: string): Companions | undefined {
  const name = cookieName.toLowerCase();
  const logins = new Set<string>();
  const hasCookie = addCookies(logins, request.fields('cookie'), name);
  const hasParameter = addParameters(logins, request.target, name);
  const others = otherCredentialsOf(request);
  const hasOthers = others.apiKeys.length + others.authorizations.length > 0;
  return hasCookie || hasParameter || hasOthers ? { logins: [...logins].sort(), ...others } : undefined;
}

function addCookies(logins: Set<string>, lines: readonly string[], name: string): boolean {
  let isThere = false;
  for (const line of lines) {
    if (!line.toLowerCase().includes(name)) continue;
    isThere = true;
    for (const part of partsOf(line, 0, line.length, ';,')) addValue(logins, part, name);
  }
  return isThere;
}

/** Any parameter is one: which of them the server reads is its own matter. */
function addParameters(logins: Set<string>, target: string, name: string): boolean {
  const query = target.indexOf('?');
  const end = query < 0 ? target.length : query;
  const start = target.indexOf(';');
  if (start < 0 || start >= end) return false;
  for (const part of partsOf(target, start + 1, end, ';/')) {
    addValue(logins, part, SESSION_PARAMETER);
    addValue(logins, part, name);
  }
  return true;
}

/** The value of `part`, e.g. `JSESSIONID="1A2B"`, if its name is a login's. */
function addValue(logins: Set<string>, part: string, name: string): void {
  const equals = part.indexOf('=');
  if (equals < 0 || !part.slice(0, equals).toLowerCase().includes(name)) return;
  const value = unquoted(part.slice(equals + 1).trim());
  if (value !== '') logins.add(value);
}

function unquoted(value: string): string {
  const isQuoted = value.length > 1 && value.startsWith('"') && value.endsWith('"');
  return isQuoted ? value.slice(1, -1).trim() : value;
}

/** `text` from `start` to `end` at each of the characters in `separators`. */
function* partsOf(text: string, start: number, end: number, separators: string): Generator<string> {
  let from = start;
  for (let at = start; at <= end; at += 1) {
    if (at < end && !separators.includes(text.charAt(at))) continue;
    yield text.slice(from, at);
    from = at + 1;
  }
}

/** All but the one that names the user: the first `Authorization` of the scheme Basic, else the first application key. */
function otherCredentialsOf(request: CompanionFields): Pick<Companions, 'apiKeys' | 'authorizations'> {
  const authorizations = request.fields('authorization');
  const apiKeys = request.fields('x-api-key');
  const [named] = isBasic(authorizations[0]) ? authorizations : apiKeys;
  const isOther = (value: string) => value !== named && value !== '';
  return { apiKeys: apiKeys.filter(isOther), authorizations: authorizations.filter(isOther) };
}

/** Whether the value of an `Authorization` is of the scheme Basic (RFC 7617 §2). */
export function isBasic(authorization: string | undefined): authorization is string {
  return authorization !== undefined && authorization.slice(0, BASIC.length).toLowerCase() === BASIC;
}

export const BASIC = 'basic ';
