/**
 * Watches files that may change at any time. It polls them every two seconds, because files are replaced in different
 * ways: some programs write into them, some rename, and Kubernetes swaps a symbolic link of a parent folder.
 */

import { SidecarError } from './errors.ts';
import type { Logger } from './logger.ts';
import { counter, type MetricDescription, ofEach, type Parts } from './metric-description.ts';

export interface FileWatchNumbers {
  readonly replaced: number;
  /** How often files were unusable: changed files (the old ones stay in use), or those of the start. */
  readonly unusable: number;
}

const POLL_MS = 2_000;
/** An error is logged when this many polls in a row have seen it. */
const LOGGED_SIGHTINGS = 2;

/** A part of the program that reloads its files when they change. */
export abstract class FileWatch {
  readonly #section: string;
  protected readonly logger: Logger;
  /** The error of the last poll, and how many polls in a row have seen it. */
  #lastError: { readonly what: string; sightings: number } | undefined;
  #isPolling = false;
  #replaced = 0;
  #unusable = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `section`: the part of the configuration that names the files, e.g. `listen.tls`. */
  constructor(section: string, logger: Logger) {
    this.#section = section;
    this.logger = logger;
  }

  /** Log messages: changed files were applied; files cannot be used. */
  protected abstract get messages(): { readonly applied: string; readonly unusable: string };

  /** Returns a function that applies changed files; undefined without a change. Throws SidecarError if unusable. */
  protected abstract readChange(): Promise<(() => void) | undefined>;

  get numbers(): FileWatchNumbers {
    return { replaced: this.#replaced, unusable: this.#unusable };
  }

  watch(): void {
    this.#timer ??= setInterval(() => void this.poll(), POLL_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Polls the files now. Never rejects: an error changes nothing. */
  async poll(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    const section = this.#section;
    try {
      const apply = await this.readChange();
      this.#lastError = undefined;
      if (apply === undefined) return;
      this.logger.info({ section }, this.messages.applied);
      apply();
    } catch (error) {
      const isOurs = error instanceof SidecarError;
      const what = isOurs ? error.message : `${section}: ${error instanceof Error ? error.name : 'unknown'}`;
      if (this.#lastError?.what !== what) this.#lastError = { what, sightings: 0 };
      this.#lastError.sightings += 1;
      // Logs an error once, and only if it persists: while a pair of files is replaced, one does not match the other.
      if (this.#lastError.sightings !== LOGGED_SIGHTINGS) return;
      this.#unusable += 1;
      this.logger.error({ reason: what }, this.messages.unusable);
    } finally {
      this.#isPolling = false;
    }
  }

  protected countReplaced(): void {
    this.#replaced += 1;
  }

  /** Starts with the error `what`, which has been logged before the first poll. */
  protected startWithError(what: string): void {
    this.#lastError = { what, sightings: LOGGED_SIGHTINGS };
    this.#unusable += 1;
  }
}

/** By section, e.g. `monitor.auth`; undefined where no files are watched. */
export const FILE_METRICS: readonly MetricDescription<Parts<{ readonly numbers: FileWatchNumbers }>>[] = [
  counter(
    'd2_sidecar_files_replaced_total',
    'Loaded changes of certificates, users or tokens.',
    ofEach(({ numbers }) => numbers.replaced),
    'section',
  ),
  counter(
    'd2_sidecar_files_unusable_total',
    'Unusable files of certificates, users or tokens.',
    ofEach(({ numbers }) => numbers.unusable),
    'section',
  ),
];
