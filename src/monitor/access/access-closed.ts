import type { SidecarError } from '../../base/errors.ts';

/** An errno as Node names it, e.g. `EACCES`. */
const ERRNO = /^E[A-Z0-9]+$/;

/** In place of an AccessControl while what says who may read cannot be used: nobody is let in. */
export class AccessClosed {
  /** For everybody who asks: key and reason, e.g. `monitor.auth.tokensFile cannot be used (EACCES), ...`; no path, nothing of a file. */
  readonly detail: string;

  /** `error` has a message that begins with the key. */
  constructor(error: SidecarError) {
    const [key = 'monitor'] = error.message.split(':', 1);
    const reason = errnoOf(error) ?? error.code;
    this.detail =
      `${key} cannot be used (${reason}), so that nobody can be let in. The log of the sidecar says more; ` +
      'as soon as the file can be used, it is.';
  }
}

/** Of the system's error that is behind `error`. */
function errnoOf(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string' && ERRNO.test(cause.code)) return cause.code;
  }
  return undefined;
}
