import { type Clock, NS_PER_S } from '../../base/clock.ts';
import { ERROR_CODES, type ErrorCode, SidecarError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';

const KINDS = {
  D2S_ERR_UPSTREAM_REFUSED: { status: 502, proxyError: 'connection_refused' },
  D2S_ERR_UPSTREAM_UNREACHABLE: { status: 502, proxyError: 'destination_ip_unroutable' },
  D2S_ERR_UPSTREAM_DNS: { status: 502, proxyError: 'dns_error' },
  D2S_ERR_UPSTREAM_CONNECT_TIMEOUT: { status: 504, proxyError: 'connection_timeout' },
  D2S_ERR_UPSTREAM_TLS: { status: 502, proxyError: 'tls_protocol_error' },
  D2S_ERR_UPSTREAM_TERMINATED: { status: 502, proxyError: 'connection_terminated' },
  D2S_ERR_UPSTREAM_INCOMPLETE: { status: 502, proxyError: 'http_response_incomplete' },
  D2S_ERR_UPSTREAM_TIMEOUT: { status: 504, proxyError: 'http_response_timeout' },
  D2S_ERR_UPSTREAM_PROTOCOL: { status: 502, proxyError: 'http_protocol_error' },
  D2S_ERR_UPSTREAM_HEAD_TOO_LARGE: { status: 502, proxyError: 'http_response_header_section_size' },
  D2S_ERR_UPSTREAM_UPGRADE: { status: 502, proxyError: 'http_upgrade_failed' },
  D2S_ERR_UPSTREAM_RESOURCES: { status: 503, proxyError: 'connection_limit_reached' },
  D2S_ERR_UPSTREAM_BUSY: { status: 503, proxyError: 'connection_limit_reached' },
} as const satisfies Partial<Record<ErrorCode, { readonly status: number; readonly proxyError: string }>>;

export type UpstreamFailureCode = keyof typeof KINDS;

/** Error types of RFC 9209 §2.3 that the sidecar uses. */
type ProxyErrorType =
  | (typeof KINDS)[UpstreamFailureCode]['proxyError']
  | 'tls_alert_received'
  | 'tls_certificate_error';

export const UPSTREAM_FAILURE_CODES = Object.keys(KINDS) as readonly UpstreamFailureCode[];

/** Why the upstream gave no complete answer. The client gets `status` and `proxyError` if the answer has not begun. */
export class UpstreamFailure extends SidecarError {
  declare readonly code: UpstreamFailureCode;
  /** For the log: what is wrong in an answer, e.g. `field X-Name (line 3)`; never a value. */
  readonly fault: string | undefined;

  constructor(code: UpstreamFailureCode, cause?: unknown, fault?: string) {
    super(code, undefined, cause === undefined ? undefined : { cause });
    this.fault = fault;
  }

  /** 503 if the upstream was not contacted, 504 after a timeout, otherwise 502 (RFC 9110 §15.6). */
  get status(): 502 | 503 | 504 {
    return KINDS[this.code].status;
  }

  get isOwnShortage(): boolean {
    return isOwnShortage(this.code);
  }

  get proxyError(): ProxyErrorType {
    if (this.code !== 'D2S_ERR_UPSTREAM_TLS') return KINDS[this.code].proxyError;
    const reason = tlsReasonOf(this.cause);
    if (isOpenSslCode(reason)) return reason.includes('_ALERT_') ? 'tls_alert_received' : 'tls_protocol_error';
    // A system error such as `ECONNRESET` has no underscore. The rest comes from verification, e.g. `CERT_HAS_EXPIRED`.
    return reason === '' || /^E[A-Z]+$/.test(reason) ? 'tls_protocol_error' : 'tls_certificate_error';
  }
}

/** This process or machine lacks resources, or `limits.inFlight` is reached: the upstream was not contacted. */
export function isOwnShortage(code: UpstreamFailureCode): boolean {
  return KINDS[code].status === 503;
}

/**
 * The only mapping from a socket's error to a failure. `phase`: before TCP is connected, before TLS is established,
 * before the response begins, after that. `UpstreamConnection` does not see the response: its `wait` lasts until the
 * relay maps the failure again.
 */
export function classifyUpstreamFailure(
  cause: unknown,
  phase: 'connect' | 'handshake' | 'wait' | 'response',
): UpstreamFailure {
  if (cause instanceof UpstreamFailure) return cause;
  if (phase === 'response') return new UpstreamFailure('D2S_ERR_UPSTREAM_INCOMPLETE', cause);
  // An upstream that requires a client certificate may say so only after we consider the handshake done (RFC 8446
  // §4.4.2.4).
  if (phase === 'handshake' || isOpenSslCode(codeOf(cause))) return new UpstreamFailure('D2S_ERR_UPSTREAM_TLS', cause);
  if (phase === 'wait') return new UpstreamFailure('D2S_ERR_UPSTREAM_TERMINATED', cause);
  // With several addresses, net.connect fails with an AggregateError that carries the last one's code.
  return new UpstreamFailure(CONNECT_CODES.get(codeOf(cause)) ?? 'D2S_ERR_UPSTREAM_UNREACHABLE', cause);
}

/** A shortage of this process or machine: the upstream was not contacted. */
const SHORTAGES = ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'EAI_MEMORY'];
const CONNECT_CODES = new Map<string, UpstreamFailureCode>([
  ['ECONNREFUSED', 'D2S_ERR_UPSTREAM_REFUSED'],
  ['ETIMEDOUT', 'D2S_ERR_UPSTREAM_CONNECT_TIMEOUT'],
  ...['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA'].map((code) => [code, 'D2S_ERR_UPSTREAM_DNS'] as const),
  ...['ECONNRESET', 'EPIPE'].map((code) => [code, 'D2S_ERR_UPSTREAM_TERMINATED'] as const),
  ...SHORTAGES.map((code) => [code, 'D2S_ERR_UPSTREAM_RESOURCES'] as const),
]);

function codeOf(cause: unknown): string {
  const code = (cause as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : '';
}

/**
 * The reason of a TLS failure, as a code of Node, OpenSSL or the system, e.g. `CERT_HAS_EXPIRED`, `ECONNRESET`; `''`
 * without one. No code holds anything that the peer has written.
 */
export function tlsReasonOf(cause: unknown): string {
  const code = codeOf(cause);
  if (code !== 'EPROTO') return code;
  // While writing, OpenSSL's error is only in the message: `...:SSL routines:ssl3_read_bytes:tlsv1 alert protocol
  // version:...`
  const reason = /:SSL routines:\w*:([\w/ ]+):/.exec((cause as Error).message)?.[1];
  return reason === undefined ? code : `ERR_SSL_${reason.toUpperCase().replaceAll(' ', '_')}`;
}

const CODE = /^[A-Z][A-Z0-9_]{0,63}$/;

/** For the log: the cause of a failure as a code of the system or of Node, e.g. `ECONNRESET`; undefined without one. */
export function reasonOf(failure: UpstreamFailure): string | undefined {
  const reason = codeOf(failure.cause);
  return CODE.test(reason) ? reason : undefined;
}

/** Errors of OpenSSL, e.g. `ERR_SSL_WRONG_VERSION_NUMBER`. */
function isOpenSslCode(code: string): boolean {
  return code.startsWith('ERR_SSL_') || code === 'EPROTO';
}

/** While an upstream is down, every request fails in the same way: one log line per code and interval. */
const LOG_INTERVAL_NS = 10 * NS_PER_S;

/** Logged with more detail elsewhere: at the limit itself (`limits.inFlight`), and where TLS connects. */
const LOGGED_ELSEWHERE: ReadonlySet<UpstreamFailureCode> = new Set(['D2S_ERR_UPSTREAM_BUSY', 'D2S_ERR_UPSTREAM_TLS']);

/** Counts failed exchanges by code, for the log and for metrics. */
export class FailureRecord {
  readonly #clock: Clock;
  readonly #logger: Logger;
  // All codes exist from the start, so that a first failure is a step and not a new series.
  readonly #entries = new Map(
    UPSTREAM_FAILURE_CODES.map((code) => [code, { count: 0, loggedCount: 0, loggedNs: Number.NEGATIVE_INFINITY }]),
  );

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Failures since the start, e.g. `D2S_ERR_UPSTREAM_REFUSED` => 17. Has an entry for every code. */
  get counts(): ReadonlyMap<UpstreamFailureCode, number> {
    return new Map(Array.from(this.#entries, ([code, { count }]) => [code, count]));
  }

  get total(): number {
    return [...this.#entries.values()].reduce((total, { count }) => total + count, 0);
  }

  record(failure: UpstreamFailure): void {
    const entry = this.#entries.get(failure.code);
    if (entry === undefined) return;
    entry.count += 1;
    if (LOGGED_ELSEWHERE.has(failure.code)) return;
    const nowNs = this.#clock.nowNs();
    if (nowNs - entry.loggedNs < LOG_INTERVAL_NS) return;
    const failed = entry.count - entry.loggedCount;
    entry.loggedNs = nowNs;
    entry.loggedCount = entry.count;
    const { code, fault } = failure;
    this.#logger.warn({ code, reason: reasonOf(failure), fault, failed }, ERROR_CODES[code]);
  }
}
