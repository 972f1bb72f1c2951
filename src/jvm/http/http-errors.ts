/** Converts failures on the wire to errors for operators. Drops causes: undici's and JSON's hold parts of bodies. */
import { errors } from 'undici';
import { type JvmErrorCode, JvmSourceError } from '../jvm-source.ts';
import { KEYS } from './keys.ts';

/** A source's knowledge of its server, for messages. Whole sentences. */
export interface Advice {
  /** What a 403 means there, e.g. `The user needs the role manager-jmx.` */
  readonly forbidden: string;
  /** What a 404 means there, e.g. `Is the manager web application deployed?` */
  readonly notFound: string;
}

const NOT_HTTP = 'not HTTP';
const TLS_UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** The error for an answer whose status is neither 200 nor 401. */
export function toStatusError(status: number, where: string, advice: Advice): JvmSourceError {
  const answered = `${where} answered ${status}`;
  if (status === 403) return fail('D2S_ERR_JVM_ACCESS', `${answered} (forbidden). ${advice.forbidden}`);
  if (status === 404) return fail('D2S_ERR_JVM_NOT_FOUND', `${answered} (not found). ${advice.notFound}`);
  if (status === 503)
    return fail('D2S_ERR_JVM_UNREACHABLE', `${answered}: the server is starting, reloading or overloaded.`);
  if (status >= 300 && status < 400)
    return fail(
      'D2S_ERR_JVM_FORMAT',
      `${answered}, a redirect. Redirects are not followed; set ${KEYS.url} to the address that answers.`,
    );
  return fail('D2S_ERR_JVM_FORMAT', `${answered} where 200 was expected. Does ${KEYS.url} name the right server?`);
}

export function toWireError(cause: unknown, where: string, signal: AbortSignal): JvmSourceError {
  if (cause instanceof JvmSourceError) return cause;
  if (signal.aborted) return fail('D2S_ERR_JVM_TIMEOUT', `${where} did not answer in time (${KEYS.timeout}).`);
  const code = codeOf(cause);
  const [errorCode, what] = describe(code);
  return fail(errorCode, `${where} ${what}`);
}

function describe(code: string): readonly [JvmErrorCode, string] {
  switch (code) {
    case 'ECONNREFUSED':
      return ['D2S_ERR_JVM_UNREACHABLE', `refused the connection (${code}). Is the server up, and the port right?`];
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return ['D2S_ERR_JVM_UNREACHABLE', `cannot be reached: its name cannot be resolved (${code}; ${KEYS.url}).`];
    case 'UND_ERR_CONNECT_TIMEOUT':
      return ['D2S_ERR_JVM_TIMEOUT', `did not accept the connection in time (${code}).`];
    case 'ECONNRESET':
    case 'EPIPE':
    case 'UND_ERR_SOCKET':
    case 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH':
      return ['D2S_ERR_JVM_UNREACHABLE', `closed the connection before its answer was complete (${code}).`];
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return [
        'D2S_ERR_JVM_UNREACHABLE',
        `has a certificate for another name (${code}); set ${KEYS.serverName} to a name in the certificate.`,
      ];
    case 'CERT_HAS_EXPIRED':
      return ['D2S_ERR_JVM_UNREACHABLE', `has a certificate that has expired (${code}).`];
    case 'UND_ERR_RES_EXCEEDED_MAX_SIZE':
      return ['D2S_ERR_JVM_FORMAT', `answered more than a source of this kind does (${code}). Is ${KEYS.url} right?`];
    case 'UND_ERR_HEADERS_OVERFLOW':
      return ['D2S_ERR_JVM_FORMAT', `answered with a head that is too large (${code}).`];
    default:
      return describeByFamily(code);
  }
}

function describeByFamily(code: string): readonly [JvmErrorCode, string] {
  if (TLS_UNTRUSTED.has(code))
    return [
      'D2S_ERR_JVM_UNREACHABLE',
      `has a certificate that no known authority signed (${code}); name its authority's file in ${KEYS.caFile}.`,
    ];
  if (code === NOT_HTTP || code.startsWith('HPE_'))
    return ['D2S_ERR_JVM_FORMAT', `did not answer in HTTP/1.1. Is the port in ${KEYS.url} right?`];
  if (code.startsWith('ERR_SSL') || code === 'EPROTO')
    return ['D2S_ERR_JVM_UNREACHABLE', `did not agree on TLS (${code}). Is it https that ${KEYS.url} should say?`];
  return ['D2S_ERR_JVM_UNREACHABLE', `cannot be read (${code}).`];
}

/** Keeps codes, which are names. Messages are dropped, since they may hold text from the peer. */
function codeOf(cause: unknown): string {
  // undici's parser error does not always have a code.
  if (cause instanceof errors.HTTPParserError) return NOT_HTTP;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : 'no code';
}

function fail(code: JvmErrorCode, message: string): JvmSourceError {
  return new JvmSourceError(code, message);
}
