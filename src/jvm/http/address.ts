import { ConfigError } from '../../base/errors.ts';

/** The address of a source, fixed at start: no part of a request or an answer ever changes it. */
export interface Address {
  /** E.g. `https://127.0.0.1:8443`. */
  readonly origin: string;
  /** E.g. `/manager`, without a trailing slash; empty for the root. */
  readonly basePath: string;
  /** E.g. `?includedNames=jvm_memory_used_bytes`, or empty. Never shown: it may contain a secret. */
  readonly query: string;
}

/**
 * Parses the configured address, e.g. `http://127.0.0.1:8080/manager`. Without a path, `defaultPath` is used. Throws
 * `D2S_ERR_CONFIG` for other schemes than http and https, for user information (it would end up in logs), for a
 * fragment, and for a query if the source makes its own.
 */
export function parseAddress(url: string, defaultPath: string, mayHaveQuery = false): Address {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:'))
    throw new ConfigError(`jvm.http.url: an address such as http://127.0.0.1:8080${defaultPath} is expected.`);
  if (parsed.username !== '' || parsed.password !== '')
    throw new ConfigError(
      `jvm.http.url: must not contain a user or password; set jvm.http.username, and jvm.http.passwordFile or jvm.http.passwordEnv.`,
    );
  if (parsed.hash !== '') throw new ConfigError(`jvm.http.url: the part after # has no meaning here; leave it out.`);
  if (parsed.search !== '' && !mayHaveQuery)
    throw new ConfigError(`jvm.http.url: the part after ? has no meaning for this source; leave it out.`);
  const path = parsed.pathname === '/' ? defaultPath : parsed.pathname;
  return { origin: parsed.origin, basePath: path.replace(/\/+$/, ''), query: parsed.search };
}
