/** The answers of the upstreams. */
export const SMALL_ANSWER = '{"returnCode":0,"parameters":[{"type":"INT","value":42},{"type":"TEXT","value":"abc"}]}';
export const ANSWER_64K = Buffer.alloc(64 * 1024, '0123456789abcdef');
export const ANSWER_1M = Buffer.alloc(1024 * 1024, '0123456789abcdef');

/** Requests below this path are held until the client leaves. */
export const HELD_PATH = '/smartWeb/cometd';
/** Of programs/stand.ts: the number of held requests, as JSON. */
export const HELD_COUNT_PATH = '/held';
export const RPC_PATH = '/smartWeb/api/rest/v0/d2/rpc/E.Bench';
export const OBJECT_PATH = '/smartWeb/api/rest/v0/d2/object';
export const ADMIN_PATH = '/smartWeb/api/rest/v0/admin';
