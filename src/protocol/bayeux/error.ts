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

const CODE_CHARS = 3;
const LOOKED_AT_CHARS = 512;
const CODE = /^\d{3}:/;
const UNKNOWN = /unknown/i;
