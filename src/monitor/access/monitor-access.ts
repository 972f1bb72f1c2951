/**
 * Access to the monitoring port by `monitor.auth`: watches its files, and applies reloads. This folder checks
 * credentials and roles; it must not know HTTP answers, which guard.ts makes of its verdicts.
 */
import type { Clock } from '../../base/clock.ts';
import { SidecarError } from '../../base/errors.ts';
import { FileWatch, type FileWatchParts } from '../../base/file-watch.ts';
import type { Logger } from '../../base/logger.ts';
import type { Config } from '../../config/config.ts';
import { AccessClosed } from './access-closed.ts';
import { AccessControl } from './access-control.ts';
import { AccessList } from './access-list.ts';

type Auth = Config['monitor']['auth'];

export interface MonitorAccessParts extends FileWatchParts {
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
  readonly #logger: Logger;
  /** Set after a start with unusable files, until they can be used. */
  #closed: { readonly auth: Auth; readonly access: AccessClosed } | undefined;
  /** Kept when a reload opens the port to everybody, so that its counters continue later. */
  #control: AccessControl | undefined;
  #list: AccessList | undefined;

  /** Never rejects because of a file: with unusable files nobody is admitted, and the log has the reason. */
  static async open(auth: Auth, parts: MonitorAccessParts): Promise<MonitorAccess> {
    const access = new MonitorAccess(parts);
    try {
      (await access.prepareReload(auth))();
    } catch (error) {
      if (!(error instanceof SidecarError)) throw error;
      access.#close(auth, error);
    }
    return access;
  }

  private constructor(parts: MonitorAccessParts) {
    super(SECTION, parts);
    this.#clock = parts.clock;
    this.#logger = parts.logger;
  }

  /** Undefined: everybody may read everything. */
  get current(): AccessControl | AccessClosed | undefined {
    return this.#closed?.access ?? (this.#list && this.#control);
  }

  /** Counts of all credentials since the start; undefined if none was ever needed. */
  get counts(): AccessControl['counts'] | undefined {
    return this.#control?.counts;
  }

  /** Reads the files of `auth` without any change; the returned function applies them. Throws as `AccessList.open`. */
  async prepareReload(auth: Auth): Promise<() => void> {
    if (typeof auth !== 'object') {
      return () => {
        this.#closed = undefined;
        this.#list = undefined;
      };
    }
    const list = await AccessList.open(auth, this.#list);
    return () => this.#use(list);
  }

  #use(list: AccessList): void {
    this.#closed = undefined;
    this.#list = list;
    if (this.#control === undefined) this.#control = new AccessControl(list, this.#clock);
    else this.#control.useList(list);
  }

  #close(auth: Auth, error: SidecarError): void {
    this.#closed = { auth, access: new AccessClosed(error) };
    this.#logger.error({ section: SECTION, code: error.code, reason: error.message }, CLOSED.unusable);
    this.startWithError(error.message);
  }

  protected override get messages() {
    return this.#closed === undefined ? CHANGED : CLOSED;
  }

  protected override async readChange(): Promise<(() => void) | undefined> {
    if (this.#closed !== undefined) return await this.#reopen(this.#closed.auth);
    const before = this.#list;
    const list = await before?.readChanged();
    if (list === undefined) return undefined;
    return () => {
      // A reload may have named other files since.
      if (this.#list !== before) return;
      this.#use(list);
      this.countReplaced();
    };
  }

  async #reopen(auth: Auth): Promise<() => void> {
    try {
      const apply = await this.prepareReload(auth);
      return () => {
        // A reload may have named other files since.
        if (this.#closed?.auth !== auth) return;
        apply();
        this.countReplaced();
      };
    } catch (error) {
      if (error instanceof SidecarError && this.#closed?.auth === auth) {
        this.#closed = { auth, access: new AccessClosed(error) };
      }
      throw error;
    }
  }
}
