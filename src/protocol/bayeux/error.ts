export interface BayeuxError {
  /** Three digits, e.g. 402. */
  readonly code: number;
  /** What the error is about, such as a client's or a channel's name; mostly empty. */
  readonly args: readonly string[];
  /** E.g. `Unknown client`; any text, colons included. */
  readonly message: string;
}

/** Maximum number of arguments; the last one holds the rest. */
const MAX_ARGS = 16;

/**
 * Parses `403:xj3s,/foo/bar:Subscription denied` into
 * `{ code: 403, args: ['xj3s', '/foo/bar'], message: 'Subscription denied' }`.
 * Undefined without an error, or for one without a code: servers put any text there. The Bayeux Protocol 1.0, "error".
 */
export function parseError(error: string | undefined): BayeuxError | undefined {
  const code = toErrorCode(error);
  if (error === undefined || code === undefined) return undefined;
  const messageAt = error.indexOf(':', CODE_CHARS + 1);
  if (messageAt < 0) return { code, args: [], message: error.slice(CODE_CHARS + 1) };
  return { code, args: toArgs(error.slice(CODE_CHARS + 1, messageAt)), message: error.slice(messageAt + 1) };
}

/** `402` of `402::session_unknown`; undefined without a code. */
export function toErrorCode(error: string | undefined): number | undefined {
  return error !== undefined && CODE.test(error) ? Number(error.slice(0, CODE_CHARS)) : undefined;
}

/**
 * Whether the server does not know, or no longer knows, the client. The code alone does not tell: CometD sends
 * `402::session_unknown` or `402::Unknown client`, faye `401:<clientId>:Unknown client`.
 * `402:data:Missing required parameter` is another error.
 */
export function isUnknownClient(error: string | undefined): boolean {
  const code = toErrorCode(error);
  return (code === 401 || code === 402) && error !== undefined && UNKNOWN.test(error.slice(0, LOOKED_AT_CHARS));
}

function toArgs(text: string): readonly string[] {
  const args: string[] = [];
  let at = 0;
  while (at < text.length) {
    const comma = args.length + 1 < MAX_ARGS ? text.indexOf(',', at) : -1;
    args.push(text.slice(at, comma < 0 ? text.length : comma));
    if (comma < 0) break;
    at = comma + 1;
  }
  return args;
}

const CODE_CHARS = 3;
const LOOKED_AT_CHARS = 512;
const CODE = /^\d{3}:/;
const UNKNOWN = /unknown/i;
