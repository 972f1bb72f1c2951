/** Converts failures on the wire to errors for operators. Drops causes: those of undici and JSON quote bodies. */
import { errors } from 'undici';
import { type JvmErrorCode, JvmSourceError } from '../jvm-source.ts';

/** A source's knowledge of its server, for messages. Whole sentences. */
export interface Advice {
  /** What a 403 means there, e.g. `The user needs the role manager-jmx.` */
  readonly forbidden: string;
  /** What a 404 means there, e.g. `Is the manager web application deployed?` */
  readonly notFound: string;
}

const UNREACHABLE = 'D2S_ERR_JVM_UNREACHABLE';
const TIMEOUT = 'D2S_ERR_JVM_TIMEOUT';
const FORMAT = 'D2S_ERR_JVM_FORMAT';
const NOT_HTTP = 'no HTTP';

type Failure = readonly [codes: RegExp, code: JvmErrorCode, what: string, advice?: string];

/** By the system's, OpenSSL's or undici's code. */
const FAILURES: readonly Failure[] = [
  [/^ECONNREFUSED$/, UNREACHABLE, 'refused the connection', 'Is the server up, and the port right?'],
  [/^(?:ENOTFOUND|EAI_AGAIN)$/, UNREACHABLE, 'has a name that cannot be resolved', 'Is jvm.http.url right?'],
  [/^UND_ERR_CONNECT_TIMEOUT$/, TIMEOUT, 'did not accept the connection in time'],
  [
    /^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/,
    UNREACHABLE,
    'closed the connection before its answer was complete',
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    UNREACHABLE,
    'has a certificate for another name',
    'Set jvm.http.serverName to a name in the certificate.',
  ],
  [/^CERT_HAS_EXPIRED$/, UNREACHABLE, 'has a certificate that has expired'],
  [
    /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(?:GET_ISSUER_CERT|VERIFY_LEAF).*)$/,
    UNREACHABLE,
    'has a certificate that no known authority signed',
    'Name the file of its authority in jvm.http.caFile.',
  ],
  [/^(?:ERR_SSL.*|EPROTO)$/, UNREACHABLE, 'did not agree on TLS', 'Does it speak TLS, as https in jvm.http.url says?'],
  [/^UND_ERR_RES_EXCEEDED_MAX_SIZE$/, FORMAT, 'sent an answer that is too large', 'Is jvm.http.url right?'],
  [/^UND_ERR_HEADERS_OVERFLOW$/, FORMAT, 'sent an answer with a head that is too large'],
  [/^(?:no HTTP|HPE_.*)$/, FORMAT, 'did not answer in HTTP/1.1', 'Is the port in jvm.http.url right?'],
  [/^/, UNREACHABLE, 'cannot be read'],
];

export function adviceForManager(role: string): Advice {
  return {
    forbidden: `The user (jvm.http.username) needs the role ${role}, and the manager's context.xml must allow the sidecar's address (RemoteCIDRValve: by default only loopback).`,
    notFound: 'Is the manager web application deployed there (Debian: the package tomcat10-admin)?',
  };
}

export function createStatusError(status: number, where: string, { forbidden, notFound }: Advice): JvmSourceError {
  const answered = `${where} answered ${status}`;
  if (status === 403) return new JvmSourceError('D2S_ERR_JVM_ACCESS', `${answered} (forbidden). ${forbidden}`);
  if (status === 404) return new JvmSourceError('D2S_ERR_JVM_NOT_FOUND', `${answered} (not found). ${notFound}`);
  if (status === 503)
    return new JvmSourceError(UNREACHABLE, `${answered}: the server is starting, reloading or overloaded.`);
  const advice =
    status >= 300 && status < 400
      ? ', a redirect. Redirects are not followed; set jvm.http.url to the address that answers.'
      : ' where 200 was expected. Does jvm.http.url name the right server?';
  return new JvmSourceError(FORMAT, `${answered}${advice}`);
}

export function createWireError(cause: unknown, where: string, signal: AbortSignal): JvmSourceError {
  if (cause instanceof JvmSourceError) return cause;
  if (signal.aborted) return new JvmSourceError(TIMEOUT, `${where} did not answer in time (jvm.timeout).`);
  const reason = reasonOf(cause);
  const [, code, what, advice] = FAILURES.find(([codes]) => codes.test(reason)) as Failure;
  return new JvmSourceError(code, `${where} ${what} (${reason}).${advice === undefined ? '' : ` ${advice}`}`);
}

/** Keeps codes, which are names. Messages are dropped, since they may contain text from the peer. */
function reasonOf(cause: unknown): string {
  // undici's parser error does not always have a code.
  if (cause instanceof errors.HTTPParserError) return NOT_HTTP;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : 'no code';
}
