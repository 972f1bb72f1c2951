/**
 * Files that hold as they are at any time. They are read every two seconds, since what replaces them differs: some write into them,
 * some rename, and Kubernetes turns a link of a folder above.
 */
import { SidecarError } from './errors.ts';
import type { Logger } from './logger.ts';

/** Calls `run` every `ms`, until what it returns is called. */
export type Every = (ms: number, run: () => void) => () => void;

export interface FileWatchParts {
  readonly logger: Logger;
  /** Default: a timer that keeps no process alive. */
  readonly every?: Every | undefined;
}

export interface WatchedFiles {
  /** The keys that name them, e.g. `listen.tls`. */
  readonly section: string;
  /** What is logged, as it is at that moment, of changed ones that were taken over, and of those that could not be. */
  readonly messages: { readonly taken: string; readonly unusable: string };
  /** Reads them; what it returns takes them over, undefined if nothing has changed. Throws SidecarError for what cannot be used. */
  look(): Promise<(() => void) | undefined>;
}

export interface FileWatchNumbers {
  /** How often new files were taken. */
  readonly replaced: number;
  /** How often files could not be used: changed ones, so that the old ones stayed, or those of the start. */
  readonly unusable: number;
}

const POLL_MS = 2_000;
/** At which sight it is told. */
const TOLD = 2;

const everyUnref: Every = (ms, run) => {
  const timer = setInterval(run, ms).unref();
  return () => clearInterval(timer);
};

export class FileWatch {
  readonly #files: WatchedFiles;
  readonly #logger: Logger;
  readonly #every: Every;
  /** What was wrong at the last look, and how often it was seen; a second sight makes it worth a line. */
  #wrong: { readonly what: string; sightings: number } | undefined;
  #isPolling = false;
  #replaced = 0;
  #unusable = 0;
  #stop: (() => void) | undefined;

  constructor(files: WatchedFiles, { logger, every = everyUnref }: FileWatchParts) {
    this.#files = files;
    this.#logger = logger;
    this.#every = every;
  }

  get numbers(): FileWatchNumbers {
    return { replaced: this.#replaced, unusable: this.#unusable };
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
    const { section, messages } = this.#files;
    try {
      const takeOver = await this.#files.look();
      this.#wrong = undefined;
      if (takeOver === undefined) return;
      this.#logger.info({ section }, messages.taken);
      takeOver();
    } catch (error) {
      const isOurs = error instanceof SidecarError;
      this.#onWrong(isOurs ? error.message : `${section}: ${error instanceof Error ? error.name : 'unknown'}`);
    } finally {
      this.#isPolling = false;
    }
  }

  /** To be called by whoever takes them over. */
  taken(): void {
    this.#replaced += 1;
  }

  /** `what` was wrong before the first look, and has been told. */
  told(what: string): void {
    this.#wrong = { what, sightings: TOLD };
    this.#unusable += 1;
  }

  /** Of two files one is always written first, and does not fit the other for a moment: only what stays wrong is told, once. */
  #onWrong(what: string): void {
    if (this.#wrong?.what !== what) this.#wrong = { what, sightings: 0 };
    this.#wrong.sightings += 1;
    if (this.#wrong.sightings !== TOLD) return;
    this.#unusable += 1;
    this.#logger.error({ reason: what }, this.#files.messages.unusable);
  }
}
