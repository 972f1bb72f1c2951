/** `402` of `402::session_unknown`; undefined without a code. */
export function parseErrorCode(error: string | undefined): number | undefined {
  return error !== undefined && CODE.test(error) ? Number(error.slice(0, CODE_CHARS)) : undefined;
}

/**
 * Whether the server does not know, or no longer knows, the client. The code alone is not enough: CometD sends
 * `402::session_unknown` or `402::Unknown client`, faye `401:<clientId>:Unknown client`.
 * `402:data:Missing required parameter` is a different error.
 */
export function isUnknownClient(error: string | undefined): boolean {
  const code = parseErrorCode(error);
  return (code === 401 || code === 402) && error !== undefined && UNKNOWN.test(error.slice(0, SEARCHED_CHARS));
}

const CODE_CHARS = 3;
const SEARCHED_CHARS = 512;
const CODE = /^\d{3}:/;
const UNKNOWN = /unknown/i;
