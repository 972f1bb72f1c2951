/** The address of the application server, and the context paths below it. */

import { HOST_EXAMPLES, hasHost } from './host-port.ts';

/** For a URL without a port (RFC 9110 sections 4.2.1 and 4.2.2). */
const HTTP_PORT = 80;
const HTTPS_PORT = 443;

/** `expected` never repeats the input, which may contain a password. */
export type Parsed<T> =
  | { readonly kind: 'ok'; readonly value: T }
  | { readonly kind: 'bad'; readonly expected: string };

const FORM = 'http://host[:port][/application]';

export const UPSTREAM_URL_FORM = `${FORM} or https://...`;

/**
 * Accepts `http://host[:port][/application]`, or the same with https, and nothing else. `baseUrl`: `http://127.0.0.1:8080`.
 * `application`: context path of the URL without outer slashes, `smartWeb`; undefined if the URL has no path.
 */
export function parseUpstreamUrl(text: string) {
  // new URL() would silently repair all of these: it accepts http:host and backslashes, and strips tabs and line ends.
  if (!/^https?:\/\/[^/\\]/i.test(text) || /[\s\\]/.test(text)) return bad(UPSTREAM_URL_FORM);
  if (text.includes('@')) return bad(`${FORM}, without user name and password: every client sends its own`);
  if (/[?#]/.test(text)) return bad(`${FORM}, without query and fragment`);
  if (!URL.canParse(text)) return bad(`${FORM} with a valid host and a port from 1 to 65535`);
  const url = new URL(text);
  if (!hasHost(text, url)) return bad(`${FORM} with a host such as ${HOST_EXAMPLES}`);
  const isSecure = url.protocol === 'https:';
  const byDefault = isSecure ? HTTPS_PORT : HTTP_PORT;
  const port = url.port === '' ? byDefault : Number(url.port);
  if (port === 0) return bad(`${FORM} with a port from 1 to 65535`);
  const path = parseContextPath(text.replace(/^https?:\/\/[^/]*/i, ''));
  if (path.kind === 'bad') return path;
  const application = path.value === '' ? undefined : path.value;
  return ok({ host: url.hostname.replace(/^\[|\]$/g, ''), port, baseUrl: url.origin, isSecure, application });
}

/** Parses a URL that matches `pattern`, and formats it as `URL` does. `form`: what an error says is expected. */
export function parsePlainUrl(text: string, pattern: RegExp, form: string): Parsed<string> {
  const isUsable = pattern.test(text) && URL.canParse(text) && hasHost(text, new URL(text));
  return isUsable ? ok(new URL(text).href) : bad(form);
}

export const CONTEXT_PATH_FORM = 'a context path such as smartWeb, or / for the root context';

/** A context path as clients send it, without outer slashes: `smartWeb`; `''` is the root context. */
export function parseContextPath(text: string): Parsed<string> {
  const path = trimSlashes(text);
  if (path === '') return ok('');
  if (/[\s?#\\]/.test(path)) return bad(CONTEXT_PATH_FORM);
  if (path.split('/').some((segment) => segment === '' || segment === '.' || segment === '..'))
    return bad(CONTEXT_PATH_FORM);
  // Percent-encodes what clients percent-encode, so that it equals the path of a request line.
  return URL.canParse(`http://h/${path}`) ? ok(new URL(`http://h/${path}`).pathname.slice(1)) : bad(CONTEXT_PATH_FORM);
}

export function trimSlashes(path: string): string {
  return path.replace(/^\/+|\/+$/g, '');
}

/**
 * Makes a text safe for messages: it replaces possible user info (everything before the last `@`) and a query or
 * fragment, e.g. `http://[hidden]@host/app?[hidden]`.
 */
export function hideUrlSecrets(text: string): string {
  const at = text.lastIndexOf('@');
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0] ?? '';
  const shown = at < 0 ? text : `${scheme}[hidden]${text.slice(at)}`;
  return shown.replace(/([?#]).+$/s, '$1[hidden]');
}

export function ok<T>(value: T): Parsed<T> {
  return { kind: 'ok', value };
}

export function bad(expected: string): Parsed<never> {
  return { kind: 'bad', expected };
}
