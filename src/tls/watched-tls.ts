/**
 * Certificates and keys that stay what their files are: these are watched, and the configuration may name others. Nothing of it
 * touches a connection that stands.
 */
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Clock } from '../base/clock.ts';
import { SidecarError } from '../base/errors.ts';
import { FileWatch, type FileWatchNumbers, type FileWatchParts } from '../base/file-watch.ts';
import type { Logger } from '../base/logger.ts';
import { TLS_POLICY } from './policy.ts';
import { createStandIn } from './stand-in-certificate.ts';
import { readTlsFiles, type TlsFiles, type TlsMaterial, type TlsTexts, toTlsMaterial } from './tls-files.ts';

export interface WatchedTlsParts extends FileWatchParts {
  readonly clock: Clock;
}

export interface WatchedTlsNumbers extends FileWatchNumbers {
  /** When the own certificate ends, in milliseconds since 1970; undefined without one. */
  readonly notAfterEpochMs: number | undefined;
}

const CHANGED = {
  taken: 'certificate files have changed: new connections use them',
  unusable: 'changed certificate files cannot be used: the old ones stay',
};
const STANDING_IN = {
  taken: 'certificate files can be used now: new connections use them',
  unusable:
    'certificate files cannot be used: the port has a self-signed certificate and refuses everybody until they can be; ' +
    'clients are served all the same',
};

export class WatchedTls {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #watch: FileWatch;
  readonly #listeners: ((options: TlsMaterial['options']) => void)[] = [];
  #files: TlsFiles;
  #material: TlsMaterial;
  /** Undefined while a certificate of its own making stands in. */
  #texts: string | undefined;
  #trouble: SidecarError | undefined;

  /** Throws StartError (D2S_ERR_TLS_FILE), ConfigError. Warnings go to the log. */
  static async open(files: TlsFiles, parts: WatchedTlsParts): Promise<WatchedTls> {
    const texts = await readTlsFiles(files);
    return new WatchedTls(files, toComparable(texts), toTlsMaterial(files, texts, parts.clock), parts);
  }

  /** As `open`, but with files that cannot be used a certificate of its own making stands in until they can be: see `trouble`. */
  static async openOrStandIn(files: TlsFiles, parts: WatchedTlsParts): Promise<WatchedTls> {
    try {
      return await WatchedTls.open(files, parts);
    } catch (error) {
      if (!(error instanceof SidecarError)) throw error;
      const watched = new WatchedTls(files, undefined, toStandIn(parts.clock), parts);
      watched.#standInFor(error);
      return watched;
    }
  }

  private constructor(files: TlsFiles, texts: string | undefined, material: TlsMaterial, parts: WatchedTlsParts) {
    this.#files = files;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    const messages = () => (this.#trouble === undefined ? CHANGED : STANDING_IN);
    const watched = {
      section: files.section,
      get messages() {
        return messages();
      },
      look: () => this.#look(),
    };
    this.#watch = new FileWatch(watched, parts);
    this.#material = material;
    this.#texts = texts;
    this.#warn();
  }

  /** Why a certificate of its own making stands in; undefined where none does. */
  get trouble(): SidecarError | undefined {
    return this.#trouble;
  }

  get options(): TlsMaterial['options'] {
    return this.#material.options;
  }

  get secureContext(): SecureContext {
    return this.#material.secureContext;
  }

  get numbers(): WatchedTlsNumbers {
    return { ...this.#watch.numbers, notAfterEpochMs: this.#material.notAfterEpochMs };
  }

  /** Called with new files from then on; each connection that comes later is to use them. */
  onReplaced(listener: (options: TlsMaterial['options']) => void): void {
    this.#listeners.push(listener);
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

  /** Reads `files`, and changes nothing; what it returns uses and watches them from then on. Throws as `open`. */
  async prepare(files: TlsFiles): Promise<() => void> {
    const texts = await readTlsFiles(files);
    const material = toTlsMaterial(files, texts, this.#clock);
    return () => {
      this.#files = files;
      this.#take(texts, material);
    };
  }

  #standInFor(error: SidecarError): void {
    this.#trouble = error;
    const { section } = this.#files;
    this.#logger.error({ section, code: error.code, reason: error.message }, STANDING_IN.unusable);
    this.#watch.told(error.message);
  }

  async #look(): Promise<(() => void) | undefined> {
    const files = this.#files;
    try {
      const texts = await readTlsFiles(files);
      if (toComparable(texts) === this.#texts || files !== this.#files) return undefined;
      const material = toTlsMaterial(files, texts, this.#clock);
      return () => {
        // Others may have been named since.
        if (files === this.#files) this.#take(texts, material);
      };
    } catch (error) {
      // The newest reason is what is told from now on.
      if (this.#trouble !== undefined && files === this.#files && error instanceof SidecarError) this.#trouble = error;
      throw error;
    }
  }

  #take(texts: TlsTexts, material: TlsMaterial): void {
    const comparable = toComparable(texts);
    if (comparable === this.#texts) return;
    for (const listener of this.#listeners) listener(material.options);
    this.#material = material;
    this.#texts = comparable;
    this.#trouble = undefined;
    this.#watch.taken();
    this.#warn();
  }

  #warn(): void {
    for (const warning of this.#material.warnings) this.#logger.warn(warning);
  }
}

/** It trusts nobody's certificate: its only authority is itself. */
function toStandIn(clock: Clock): TlsMaterial {
  const { cert, key } = createStandIn(clock);
  const options = { ...TLS_POLICY, cert, key, ca: cert };
  return { options, secureContext: createSecureContext(options), notAfterEpochMs: undefined, warnings: [] };
}

function toComparable({ cert, key, ca }: TlsTexts): string {
  return JSON.stringify([cert, key, ca]);
}
