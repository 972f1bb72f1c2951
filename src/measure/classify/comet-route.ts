import { createContexts, extractRawPath, isIrregularPath, parseConfigSegments, parseSegments } from './path.ts';

/** A request whose body is read, although it is not a call: to the Comet endpoint, or a login form. */
export interface CometRoute {
  readonly application: string;
  readonly kind: 'comet' | 'login';
}

export class CometRoutes {
  readonly #contexts: readonly { readonly application: string; readonly start: string }[];
  readonly #cometStart: string;
  readonly #loginEnd: string;

  /** `cometPath` and `loginPath` are relative to each application, without slashes at their ends. */
  constructor(applications: readonly string[], cometPath: string, loginPath: string) {
    // By the length of the text, since a segment may contain a slash (`%2F`).
    this.#contexts = createContexts(applications)
      .map(({ application, segments }) => ({ application, start: joinSegments(segments) }))
      .sort((one, other) => other.start.length - one.start.length);
    this.#cometStart = joinSegments(parseConfigSegments(cometPath));
    this.#loginEnd = joinSegments(parseConfigSegments(loginPath));
  }

  /**
   * Comet: the path and those below it, as CometD appends `/connect`. A login: POST to any path with that ending, as in
   * Tomcat's FormAuthenticator.
   */
  find(method: string, target: string): CometRoute | undefined {
    const path = normalizePath(target);
    if (path === undefined) return undefined;
    const context = this.#contexts.find(({ start }) => isAtOrBelow(path, start));
    if (context === undefined) return undefined;
    const { application, start } = context;
    const rest = path.slice(start.length);
    if (isAtOrBelow(rest, this.#cometStart)) return { application, kind: 'comet' };
    return method === 'POST' && rest.endsWith(this.#loginEnd) ? { application, kind: 'login' } : undefined;
  }
}

function normalizePath(target: string): string | undefined {
  const raw = extractRawPath(target);
  if (raw === undefined || (!isIrregularPath(raw) && !raw.endsWith('/'))) return raw;
  const segments = parseSegments(raw);
  return segments && joinSegments(segments);
}

function joinSegments(segments: readonly string[]): string {
  return segments.map((segment) => `/${segment}`).join('');
}

function isAtOrBelow(path: string, start: string): boolean {
  return path.startsWith(start) && (path.length === start.length || path[start.length] === '/');
}
