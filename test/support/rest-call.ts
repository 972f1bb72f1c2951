import { basic } from './monitor/access/access-files.ts';
import { type Answer, type Sending, send } from './net.ts';

/** A call, e.g. `rpc/E.Demo/Run`: an RPC by POST, all else by GET; as a user with the password `secret`, or as nobody. */
export function restCall(port: number, path: string, user?: string, options: Sending = {}): Promise<Answer> {
  const method = path.startsWith('rpc/') ? 'POST' : 'GET';
  const headers = { ...(user !== undefined && { authorization: basic(user, 'secret') }), ...options.headers };
  return send(port, `/smartWeb/api/rest/v0/d2/${path}`, { method, ...options, headers });
}
