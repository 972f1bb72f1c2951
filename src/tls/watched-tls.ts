/**
 * Certificates and keys that stay what their files are. The files are read every two seconds, since what replaces them differs:
 * some write into them, some rename, and Kubernetes turns a link of a folder above. Nothing of it touches a connection that stands.
 */
import type { SecureContext } from 'node:tls';
import type { Clock } from '../clock.ts';
import { SidecarError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { readTlsFiles, type TlsFiles, type TlsMaterial, type TlsTexts, toTlsMaterial } from './tls-files.ts';

/** Calls `run` every `ms`, until what it returns is called. */
export type Every = (ms: number, run: () => void) => () => void;

export interface WatchedTlsParts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: a timer that keeps no process alive. */
  readonly every?: Every;
}

export interface WatchedTlsNumbers {
  /** How often new files were taken. */
  readonly replaced: number;
  /** How often changed files could not be used, so that the old ones stayed. */
  readonly unusable: number;
  /** When the own certificate ends, in milliseconds since 1970; undefined without one. */
  readonly notAfterEpochMs: number | undefined;
}

const POLL_MS = 2_000;

const everyUnref: Every = (ms, run) => {
  const timer = setInterval(run, ms).unref();
  return () => clearInterval(timer);
};

export class WatchedTls {
  readonly #files: TlsFiles;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #every: Every;
  readonly #listeners: ((options: TlsMaterial['options']) => void)[] = [];
  #material: TlsMaterial;
  #texts: string;
  /** What was wrong at the last look, and how often it was seen; a second sight makes it worth a line. */
  #wrong: { readonly what: string; sightings: number } | undefined;
  #isPolling = false;
  #replaced = 0;
  #unusable = 0;
  #stop: (() => void) | undefined;

  /** Throws StartError (D2S_ERR_TLS_FILE), ConfigError. Warnings go to the log. */
  static async open(files: TlsFiles, parts: WatchedTlsParts): Promise<WatchedTls> {
    const texts = await readTlsFiles(files);
    return new WatchedTls(files, texts, toTlsMaterial(files, texts, parts.clock), parts);
  }

  private constructor(files: TlsFiles, texts: TlsTexts, material: TlsMaterial, parts: WatchedTlsParts) {
    this.#files = files;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#every = parts.every ?? everyUnref;
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
    return { replaced: this.#replaced, unusable: this.#unusable, notAfterEpochMs: this.#material.notAfterEpochMs };
  }

  /** Called with new files from then on; each connection that comes later is to use them. */
  onReplaced(listener: (options: TlsMaterial['options']) => void): void {
    this.#listeners.push(listener);
  }

  watch(): void {
    this.#stop ??= this.#every(POLL_MS, () => void this.poll());
  }

  close(): void {
    this.#stop?.();
    this.#stop = undefined;
  }

  /** Looks at the files now. Never rejects: with anything wrong in them everything stays as it was. */
  async poll(): Promise<void> {
    // A slow file system must not make looks pile up.
    if (this.#isPolling) return;
    this.#isPolling = true;
    try {
      await this.#look();
    } catch (error) {
      const isOurs = error instanceof SidecarError;
      this.#onWrong(
        isOurs ? error.message : `${this.#files.section}: ${error instanceof Error ? error.name : 'unknown'}`,
      );
    } finally {
      this.#isPolling = false;
    }
  }

  async #look(): Promise<void> {
    const texts = await readTlsFiles(this.#files);
    const comparable = toComparable(texts);
    if (comparable === this.#texts) {
      this.#wrong = undefined;
      return;
    }
    const material = toTlsMaterial(this.#files, texts, this.#clock);
    for (const listener of this.#listeners) listener(material.options);
    this.#material = material;
    this.#texts = comparable;
    this.#wrong = undefined;
    this.#replaced += 1;
    this.#logger.info({ section: this.#files.section }, 'certificate files have changed: new connections use them');
    this.#warn();
  }

  /** Of two files one is always written first, and does not fit the other for a moment: only what stays wrong is told, once. */
  #onWrong(what: string): void {
    if (this.#wrong?.what !== what) this.#wrong = { what, sightings: 0 };
    this.#wrong.sightings += 1;
    if (this.#wrong.sightings !== 2) return;
    this.#unusable += 1;
    this.#logger.error({ reason: what }, 'changed certificate files cannot be used: the old ones stay');
  }

  #warn(): void {
    for (const warning of this.#material.warnings) this.#logger.warn(warning);
  }
}

function toComparable({ cert, key, ca }: TlsTexts): string {
  return JSON.stringify([cert, key, ca]);
}
