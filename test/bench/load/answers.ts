export const SMALL_ANSWER = '{"returnCode":0,"parameters":[{"type":"INT","value":42},{"type":"TEXT","value":"abc"}]}';
export const POLL_ANSWER = '[{"channel":"/meta/connect","id":"1","successful":true}]';
export const ANSWER_1M = Buffer.alloc(1024 * 1024, '0123456789abcdef');

export const COMET_PATH = '/smartWeb/api/cometd/connect';
/** For how many milliseconds programs/stand.ts holds a request; lower-case, as Node reads fields. */
export const HOLD_FIELD = 'x-hold';
/** How many values programs/comet-values.ts pushes. */
export const VALUES_PER_S = 5_000;
export const RPC_PATH = '/smartWeb/api/rest/v0/d2/rpc/E.Bench';
export const OBJECT_PATH = '/smartWeb/api/rest/v0/d2/object';
export const ADMIN_PATH = '/smartWeb/api/rest/v0/admin';
