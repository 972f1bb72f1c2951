/**
 * Every error that this program raises on purpose. Match `code`, never the message: messages may change, codes may not.
 * docs/errors.md lists them all, and a test checks that list against `ERROR_CODES`.
 * All other folders may import base/ (errors, clock, log, trusted files), which imports none of them.
 */
export const ERROR_CODES = {
  D2S_ERR_CONFIG: 'The configuration, an environment variable or a flag cannot be used.',
  D2S_ERR_CONFIG_FILE: 'The configuration file cannot be read.',
  D2S_ERR_ACCESS_FILE: 'A file of users or tokens cannot be read or written, or is open to everybody.',
  D2S_ERR_TLS_FILE: 'A file with certificates or a private key cannot be read.',
  D2S_ERR_STATE_FILE: 'The state file cannot be written, or its content cannot be used.',
  D2S_ERR_HISTORY_FILE: 'The history file cannot be read or written, or its content cannot be used.',
  D2S_ERR_ACCESS_LOG: 'The access log cannot be written.',
  D2S_ERR_LISTEN: 'A listener cannot be opened.',
  D2S_ERR_CONTROL: 'The control socket of a running sidecar cannot be found, reached or created.',
  D2S_ERR_REPORT: 'A report cannot be written to its file.',
  D2S_ERR_UPSTREAM_REFUSED: 'The upstream refused the connection.',
  D2S_ERR_UPSTREAM_UNREACHABLE: 'There is no route to the upstream’s address.',
  D2S_ERR_UPSTREAM_DNS: 'The upstream’s name cannot be resolved.',
  D2S_ERR_UPSTREAM_CONNECT_TIMEOUT: 'The upstream did not accept the connection in time.',
  D2S_ERR_UPSTREAM_TLS: 'TLS with the upstream cannot be set up, or its certificate is not trusted.',
  D2S_ERR_UPSTREAM_TERMINATED: 'The upstream closed or reset the connection before its answer began.',
  D2S_ERR_UPSTREAM_INCOMPLETE: 'The upstream closed or reset the connection in the middle of its answer.',
  D2S_ERR_UPSTREAM_TIMEOUT: 'The upstream did not begin its answer in time.',
  D2S_ERR_UPSTREAM_PROTOCOL: 'The upstream’s answer is not HTTP/1.1.',
  D2S_ERR_UPSTREAM_HEAD_TOO_LARGE: 'The head of the upstream’s answer is larger than limits.headBytes.',
  D2S_ERR_UPSTREAM_UPGRADE: 'The upstream’s answer to an upgrade cannot be used.',
  D2S_ERR_UPSTREAM_RESOURCES:
    'The sidecar has no file descriptor, port or memory left for a connection to the upstream.',
  D2S_ERR_UPSTREAM_BUSY: 'The upstream already has as many requests as limits.inFlight allows.',
  D2S_ERR_DENIED: 'Only clients on loopback may request this path (rest.deny).',
  D2S_ERR_JVM_NOT_FOUND: 'No JVM, or no counters of it, can be found.',
  D2S_ERR_JVM_AMBIGUOUS: 'More than one JVM matches.',
  D2S_ERR_JVM_ACCESS: 'The JVM’s counters, socket or server may not be read with these rights or credentials.',
  D2S_ERR_JVM_GONE: 'The JVM has ended, or hangs.',
  D2S_ERR_JVM_UNREACHABLE: 'The source of the JVM’s condition cannot be reached.',
  D2S_ERR_JVM_TIMEOUT: 'The source of the JVM’s condition did not answer in time.',
  D2S_ERR_JVM_FORMAT: 'The source of the JVM’s condition sent an answer that cannot be read.',
  D2S_ERR_ALERTS: 'A message cannot be sent, or its file cannot be read or written.',
  D2S_ERR_OTLP: 'Metrics or spans cannot be sent to the OTLP receiver.',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

export class SidecarError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string = ERROR_CODES[code], options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

const HELP_ADVICE = 'd2-sidecar --help lists what can be set.';

/** Bad configuration or usage: exit code 64. `message` names the key, the value and what was expected. */
export class ConfigError extends SidecarError {
  /** A sentence that is printed after the message. */
  readonly advice: string;

  constructor(message: string, { advice = HELP_ADVICE, ...options }: ErrorOptions & { readonly advice?: string } = {}) {
    super('D2S_ERR_CONFIG', message, options);
    this.advice = advice;
  }
}

/** For messages: the code of a system error, e.g. `EACCES`; otherwise its name, since its message may quote input. */
export function describeErrno(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown reason';
  return 'code' in error ? String(error.code) : error.name;
}

export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

/** A failed start that is not the configuration's fault, e.g. because of a port in use: exit code 1. */
export class StartError extends SidecarError {}
