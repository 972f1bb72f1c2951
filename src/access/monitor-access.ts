/** Who may read on the monitoring port, as `monitor.auth` has it at any time: its files are watched, and it may become another. */
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { FileWatch, type FileWatchNumbers, type FileWatchParts } from '../file-watch.ts';
import { AccessControl } from './access-control.ts';
import { AccessList } from './access-list.ts';

type Auth = Config['monitor']['auth'];

export interface MonitorAccessParts extends FileWatchParts {
  readonly clock: Clock;
}

const FILES = {
  section: 'monitor.auth',
  messages: {
    taken: 'files of users or tokens have changed: who may read is who is in them now',
    unusable: 'changed files of users or tokens cannot be used: the old ones hold',
  },
};

export class MonitorAccess {
  readonly #clock: Clock;
  readonly #watch: FileWatch;
  /** Kept when everybody may read from now on: its counters go on if that changes. */
  #control: AccessControl | undefined;
  #list: AccessList | undefined;

  /** Throws StartError (D2S_ERR_ACCESS_FILE), ConfigError. */
  static async open(auth: Auth, parts: MonitorAccessParts): Promise<MonitorAccess> {
    const access = new MonitorAccess(parts);
    (await access.prepare(auth))();
    return access;
  }

  private constructor(parts: MonitorAccessParts) {
    this.#clock = parts.clock;
    this.#watch = new FileWatch({ ...FILES, look: () => this.#look() }, parts);
  }

  /** Undefined: everybody may read everything. */
  get current(): AccessControl | undefined {
    return this.#list && this.#control;
  }

  /** Of all credentials since the start; undefined if none was ever needed. */
  get counts(): AccessControl['counts'] | undefined {
    return this.#control?.counts;
  }

  /** Of the files. */
  get numbers(): FileWatchNumbers {
    return this.#watch.numbers;
  }

  watch(): void {
    this.#watch.watch();
  }

  close(): void {
    this.#watch.close();
  }

  /** Looks at the files now. Never rejects: with anything wrong in them everything stays as it was. */
  async poll(): Promise<void> {
    await this.#watch.poll();
  }

  /** Reads the files of `auth`, and changes nothing; what it returns lets those in them read. Throws as `open`. */
  async prepare(auth: Auth): Promise<() => void> {
    if (typeof auth !== 'object') {
      return () => {
        this.#list = undefined;
      };
    }
    const list = this.#list;
    if (list !== undefined) return await list.prepare(auth);
    const opened = await AccessList.open(auth);
    return () => {
      this.#list = opened;
      if (this.#control === undefined) this.#control = new AccessControl(opened, this.#clock);
      else this.#control.useList(opened);
    };
  }

  async #look(): Promise<(() => void) | undefined> {
    const takeOver = await this.#list?.prepareChanged();
    if (takeOver === undefined) return undefined;
    return () => {
      takeOver();
      this.#watch.taken();
    };
  }
}
