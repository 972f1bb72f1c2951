import { describeErrno } from '../../base/errors.ts';
import { describeTlsFault } from '../../tls/tls-fault.ts';
import { SendError } from './outbox.ts';

const CODE = /^[A-Z][A-Z0-9_]{0,63}$/;
const OF_TLS = /CERT|SIGNATURE|SSL|TLS|ISSUER|VERIFY|EPROTO/;

const TEXTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection',
  ENOTFOUND: 'has a name that cannot be resolved',
  EAI_AGAIN: 'has a name that cannot be resolved',
  EDNS: 'has a name that cannot be resolved',
  UND_ERR_CONNECT_TIMEOUT: 'did not accept the connection in time',
  ETIMEDOUT: 'did not answer in time',
  ECONNRESET: 'closed the connection',
  ECONNECTION: 'closed the connection',
  UND_ERR_SOCKET: 'closed the connection',
};

/** Keeps codes, which are names; messages may quote the peer, or the URL. `who`: e.g. `the receiver`. */
export function describeSendFailure(cause: unknown, who: string): SendError {
  if (cause instanceof SendError) return cause;
  const inner = cause instanceof Error && cause.cause instanceof Error && 'code' in cause.cause ? cause.cause : cause;
  const named = describeErrno(inner);
  const code = CODE.test(named) ? named : 'no code';
  const text =
    TEXTS[code] ??
    (OF_TLS.test(code) ? `cannot be reached by TLS: ${describeTlsFault(code).text}` : 'cannot be reached');
  return new SendError(`${who} ${text} (${code})`);
}
