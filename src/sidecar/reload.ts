/**
 * Reading the configuration again while the sidecar runs: all of it is read and checked first, files that it names included; then
 * it is taken over at once, or not at all. Knows keys, not what they switch.
 */
import type { Clock } from '../base/clock.ts';
import { type ErrorCode, SidecarError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Config } from '../config/config.ts';
import type { LoadedConfig } from '../config/load-config.ts';
import { toReloadedConfig } from '../config/reload-config.ts';
import type { ParsedConfig } from '../config/schema.ts';

/** What is reloaded: the sidecar. */
export interface Reloadable {
  /**
   * Makes all that `config` asks for and changes nothing; what it returns takes it over and cannot fail. Throws SidecarError
   * with what a start would say.
   */
  prepareReload(config: Config): Promise<() => void>;
  readonly reloads: Reloads;
}

export type ReloadOutcome =
  /** Names of keys: those that hold from now on, and those that wait for a restart. */
  | { readonly kind: 'applied'; readonly changed: readonly string[]; readonly waiting: readonly string[] }
  /** Nothing has changed. `problems` as at a start, a line each; without `code` it is a mistake in this program. */
  | { readonly kind: 'refused'; readonly code: ErrorCode | undefined; readonly problems: readonly string[] };

/** Counted since the start, for /metrics. */
export class Reloads {
  readonly #clock: Clock;
  readonly #results = { applied: 0, refused: 0 };
  #lastAppliedEpochMs: number;
  #isLastApplied = true;
  #waiting = 0;

  /** To be made when the first configuration has been read, which counts as the last one that could be used. */
  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastAppliedEpochMs = clock.epochMs();
  }

  get results(): Readonly<Record<'applied' | 'refused', number>> {
    return this.#results;
  }

  /** When the configuration that holds was read, in milliseconds since 1970. */
  get lastAppliedEpochMs(): number {
    return this.#lastAppliedEpochMs;
  }

  /** False from a refused reload to the next one that is not. */
  get isLastApplied(): boolean {
    return this.#isLastApplied;
  }

  /** Keys whose values in the file wait for a restart. */
  get waiting(): number {
    return this.#waiting;
  }

  note(outcome: ReloadOutcome): void {
    this.#results[outcome.kind] += 1;
    this.#isLastApplied = outcome.kind === 'applied';
    if (outcome.kind !== 'applied') return;
    this.#lastAppliedEpochMs = this.#clock.epochMs();
    this.#waiting = outcome.waiting.length;
  }
}

export interface ReloaderParts {
  /** What the sidecar was started with. */
  readonly running: ParsedConfig;
  /** Reads the configuration from where the start read it. */
  readonly load: () => Promise<LoadedConfig>;
  readonly target: Reloadable;
  readonly logger: Logger;
  /** Called with what holds from now on. */
  readonly onApplied: (config: Config) => void;
}

export class Reloader {
  readonly #parts: ReloaderParts;
  #running: ParsedConfig;
  #current: Promise<ReloadOutcome> | undefined;
  #next: Promise<ReloadOutcome> | undefined;

  constructor(parts: ReloaderParts) {
    this.#parts = parts;
    this.#running = parts.running;
  }

  /**
   * Reloads once more, `reason` being who asks, e.g. `SIGHUP`. While a reload runs, whoever asks shares the one behind it: files may have
   * changed since they were read. Never rejects.
   */
  reload(reason: string): Promise<ReloadOutcome> {
    if (this.#next !== undefined) return this.#next;
    if (this.#current === undefined) return this.#start(reason);
    this.#next = this.#current.then(() => {
      this.#next = undefined;
      return this.#start(reason);
    });
    return this.#next;
  }

  #start(reason: string): Promise<ReloadOutcome> {
    this.#current = this.#run(reason).finally(() => {
      this.#current = undefined;
    });
    return this.#current;
  }

  async #run(reason: string): Promise<ReloadOutcome> {
    const outcome = await this.#attempt().catch(toRefusal);
    this.#parts.target.reloads.note(outcome);
    const { logger } = this.#parts;
    if (outcome.kind === 'refused') {
      const { code, problems } = outcome;
      logger.error({ reason, code, problems }, 'the configuration was not reloaded: everything stays as it was');
      return outcome;
    }
    const { changed, waiting } = outcome;
    logger.info({ reason, changed }, 'the configuration was reloaded');
    if (waiting.length > 0) logger.warn({ keys: waiting }, `needs a restart: ${waiting.join(', ')}; the rest holds`);
    return outcome;
  }

  async #attempt(): Promise<ReloadOutcome> {
    const { load, target, onApplied } = this.#parts;
    const { parsed: read } = await load();
    const { config, parsed, changed, waiting } = toReloadedConfig(this.#running, read);
    const takeOver = await target.prepareReload(config);
    takeOver();
    onApplied(config);
    this.#running = parsed;
    return { kind: 'applied', changed, waiting };
  }
}

function toRefusal(error: unknown): ReloadOutcome {
  if (error instanceof SidecarError) return { kind: 'refused', code: error.code, problems: error.message.split('\n') };
  // Its message could show what it was given. And what was read wrongly is no reason to stop serving.
  const name = error instanceof Error ? error.name : typeof error;
  return { kind: 'refused', code: undefined, problems: [`an error that nobody expected: ${name}`] };
}
