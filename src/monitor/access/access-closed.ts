import type { SidecarError } from '../../base/errors.ts';

/** An errno as Node names it, e.g. `EACCES`. */
const ERRNO = /^E[A-Z0-9]+$/;

/** Stands in for `AccessControl` while the access files cannot be used, and admits nobody. */
export class AccessClosed {
  /** Sent to all clients, e.g. `monitor.auth.tokensFile cannot be used (EACCES), ...`; without path and content. */
  readonly detail: string;

  /** The message of `error` has to begin with the key. */
  constructor(error: SidecarError) {
    const [key = 'monitor'] = error.message.split(':', 1);
    const reason = errnoOf(error) ?? error.code;
    this.detail =
      `${key} cannot be used (${reason}), so nobody has access. The log of the sidecar says more; ` +
      'access returns as soon as the file can be used.';
  }
}

/** The errno of `error` or of one of its causes. */
function errnoOf(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string' && ERRNO.test(cause.code)) return cause.code;
  }
  return undefined;
}
