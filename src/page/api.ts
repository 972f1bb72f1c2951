/**
 * The HTTP client of the monitoring port. It keeps the credentials in memory only: never in storage, never in a URL.
 * `omit` prevents the browser's own password dialog, since this page has a form for it.
 */

export type Credential =
  | { readonly kind: 'none' }
  | { readonly kind: 'password'; readonly user: string; readonly password: string }
  | { readonly kind: 'token'; readonly token: string }
  /** The browser's own credential: a client certificate. */
  | { readonly kind: 'browser' };

export type Answer<T> =
  | { readonly kind: 'ok'; readonly value: T }
  | { readonly kind: 'refused'; readonly status: number; readonly detail: string; readonly retryAfterS: number }
  | { readonly kind: 'lost'; readonly reason: string };

const TIMEOUT_MS = 10_000;

export class Api {
  #authorization: string | undefined;
  #mode: RequestCredentials = 'omit';

  use(credential: Credential): void {
    this.#mode = credential.kind === 'browser' ? 'same-origin' : 'omit';
    this.#authorization = formatAuthorization(credential);
  }

  /** Reads a JSON answer; `path` is relative to the page, e.g. `live`. Never rejects. */
  async get<T>(path: string): Promise<Answer<T>> {
    try {
      const response = await fetch(path, {
        headers: this.#authorization === undefined ? {} : { authorization: this.#authorization },
        credentials: this.#mode,
        cache: 'no-store',
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const text = await response.text();
      if (response.ok) return { kind: 'ok', value: JSON.parse(text) as T };
      const retryAfterS = Number(response.headers.get('retry-after') ?? 0);
      return { kind: 'refused', status: response.status, detail: parseDetail(text), retryAfterS };
    } catch (error) {
      const isTimeout = error instanceof DOMException && error.name === 'TimeoutError';
      return { kind: 'lost', reason: isTimeout ? `no answer within ${TIMEOUT_MS / 1000} s` : 'no connection' };
    }
  }
}

/** Basic with UTF-8 (RFC 7617 §2.1), or Bearer (RFC 6750 §2.1). */
export function formatAuthorization(credential: Credential): string | undefined {
  if (credential.kind === 'token') return `Bearer ${credential.token}`;
  if (credential.kind !== 'password') return undefined;
  const bytes = new TextEncoder().encode(`${credential.user}:${credential.password}`);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}

/** The `detail` of a problem (RFC 9457); empty if the answer is not one. */
function parseDetail(text: string): string {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    return typeof detail === 'string' ? detail : '';
  } catch {
    // Not from the sidecar, e.g. from a proxy in between: the status says enough.
    return '';
  }
}
