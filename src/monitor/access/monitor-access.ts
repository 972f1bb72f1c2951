/**
 * Access to the monitoring port by `monitor.auth`: watches its files, and applies reloads. This folder checks
 * credentials and roles; it must not know HTTP answers, which guard.ts makes of its verdicts.
 */
import type { Clock } from '../../base/clock.ts';
import { SidecarError } from '../../base/errors.ts';
import { FileWatch } from '../../base/file-watch.ts';
import type { Logger } from '../../base/logger.ts';
import type { Config } from '../../config/config.ts';
import { AccessControl } from './access-control.ts';
import { AccessList } from './access-list.ts';

type Auth = Config['monitor']['auth'];

export interface MonitorAccessParts {
  readonly logger: Logger;
  readonly clock: Clock;
}

const SECTION = 'monitor.auth';

const CHANGED = {
  applied: 'files of users or tokens have changed: their entries now have access',
  unusable: 'changed files of users or tokens cannot be used: the previous entries stay in force',
};
const CLOSED = {
  applied: 'files of users and tokens can be used now: their entries have access to the monitoring port',
  unusable:
    'files of users or tokens cannot be used: the monitoring port refuses all requests that need access until they can be used; traffic is not affected',
};

export class MonitorAccess extends FileWatch {
  readonly #clock: Clock;
  #auth: Auth;
  #list: AccessList | undefined;
  /** Set after a start with unusable files, until they can be used. */
  #closed: AccessClosed | undefined;
  /** Kept when a reload opens the port to everybody, so that its counters continue later. */
  #control: AccessControl | undefined;

  /** Never rejects because of a file: with unusable files nobody is admitted, and the log has the reason. */
  static async open(auth: Auth, parts: MonitorAccessParts): Promise<MonitorAccess> {
    const access = new MonitorAccess(auth, parts);
    try {
      (await access.prepareReload(auth))();
    } catch (error) {
      if (!(error instanceof SidecarError)) throw error;
      access.#closed = new AccessClosed(error);
      parts.logger.error({ section: SECTION, code: error.code, reason: error.message }, CLOSED.unusable);
      access.startWithError(error.message);
    }
    return access;
  }

  private constructor(auth: Auth, parts: MonitorAccessParts) {
    super(SECTION, parts.logger);
    this.#clock = parts.clock;
    this.#auth = auth;
  }

  /** Undefined: everybody may read everything. */
  get current(): AccessControl | AccessClosed | undefined {
    return this.#closed ?? (this.#list && this.#control);
  }

  /** Counts of all credentials since the start; undefined if none was ever needed. */
  get counts(): AccessControl['counts'] | undefined {
    return this.#control?.counts;
  }

  /** Reads the files of `auth` without any change; the returned function applies them. Throws as `AccessList.open`. */
  async prepareReload(auth: Auth): Promise<() => void> {
    const list = typeof auth === 'object' ? await AccessList.open(auth) : undefined;
    return () => this.#use(auth, list);
  }

  #use(auth: Auth, list: AccessList | undefined): void {
    this.#auth = auth;
    this.#list = list;
    this.#closed = undefined;
    if (list === undefined) return;
    this.#control ??= new AccessControl(list, this.#clock);
    this.#control.useList(list);
  }

  protected override get messages() {
    return this.#closed === undefined ? CHANGED : CLOSED;
  }

  protected override async readChange(): Promise<(() => void) | undefined> {
    const auth = this.#auth;
    if (typeof auth !== 'object') return undefined;
    const list = await this.#read(auth);
    if (list === this.#list) return undefined;
    return () => {
      // A reload may have named other files since.
      if (this.#auth !== auth) return;
      this.#use(auth, list);
      this.countReplaced();
    };
  }

  async #read(auth: Auth & object): Promise<AccessList> {
    try {
      return await AccessList.open(auth, this.#list);
    } catch (error) {
      const isClosed = this.#closed !== undefined && this.#auth === auth;
      if (isClosed && error instanceof SidecarError) this.#closed = new AccessClosed(error);
      throw error;
    }
  }
}

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

function errnoOf(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string' && ERRNO.test(cause.code)) return cause.code;
  }
  return undefined;
}
