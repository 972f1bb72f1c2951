/**
 * Certificates and keys that stay what their files are: these are watched, and the configuration may name others. Nothing of it
 * touches a connection that stands.
 */
import type { SecureContext } from 'node:tls';
import type { Clock } from '../clock.ts';
import { FileWatch, type FileWatchNumbers, type FileWatchParts } from '../file-watch.ts';
import type { Logger } from '../logger.ts';
import { readTlsFiles, type TlsFiles, type TlsMaterial, type TlsTexts, toTlsMaterial } from './tls-files.ts';

export interface WatchedTlsParts extends FileWatchParts {
  readonly clock: Clock;
}

export interface WatchedTlsNumbers extends FileWatchNumbers {
  /** When the own certificate ends, in milliseconds since 1970; undefined without one. */
  readonly notAfterEpochMs: number | undefined;
}

const MESSAGES = {
  taken: 'certificate files have changed: new connections use them',
  unusable: 'changed certificate files cannot be used: the old ones stay',
};

export class WatchedTls {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #watch: FileWatch;
  readonly #listeners: ((options: TlsMaterial['options']) => void)[] = [];
  #files: TlsFiles;
  #material: TlsMaterial;
  #texts: string;

  /** Throws StartError (D2S_ERR_TLS_FILE), ConfigError. Warnings go to the log. */
  static async open(files: TlsFiles, parts: WatchedTlsParts): Promise<WatchedTls> {
    const texts = await readTlsFiles(files);
    return new WatchedTls(files, texts, toTlsMaterial(files, texts, parts.clock), parts);
  }

  private constructor(files: TlsFiles, texts: TlsTexts, material: TlsMaterial, parts: WatchedTlsParts) {
    this.#files = files;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#watch = new FileWatch({ section: files.section, messages: MESSAGES, look: () => this.#look() }, parts);
    this.#material = material;
    this.#texts = toComparable(texts);
    this.#warn();
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

  async #look(): Promise<(() => void) | undefined> {
    const files = this.#files;
    const texts = await readTlsFiles(files);
    if (toComparable(texts) === this.#texts || files !== this.#files) return undefined;
    const material = toTlsMaterial(files, texts, this.#clock);
    return () => {
      // Others may have been named since.
      if (files === this.#files) this.#take(texts, material);
    };
  }

  #take(texts: TlsTexts, material: TlsMaterial): void {
    const comparable = toComparable(texts);
    if (comparable === this.#texts) return;
    for (const listener of this.#listeners) listener(material.options);
    this.#material = material;
    this.#texts = comparable;
    this.#watch.taken();
    this.#warn();
  }

  #warn(): void {
    for (const warning of this.#material.warnings) this.#logger.warn(warning);
  }
}

function toComparable({ cert, key, ca }: TlsTexts): string {
  return JSON.stringify([cert, key, ca]);
}
