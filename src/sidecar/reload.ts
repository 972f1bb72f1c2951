/**
 * Reloads the configuration. `prepareReload` first reads and checks everything, including the files that the
 * configuration names, and may fail; the function that it returns then applies everything at once. This file knows
 * keys, not what they control.
 */

import { type Clock, MS_PER_S } from '../base/clock.ts';
import { type ErrorCode, SidecarError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { counter, gauge, type MetricDescription } from '../base/metric-description.ts';
import type { Config } from '../config/config.ts';
import type { LoadedConfig } from '../config/load-config.ts';
import { mergeReloadedConfig } from '../config/reload-config.ts';
import type { ParsedConfig } from '../config/schema.ts';

export interface Reloadable {
  /**
   * Prepares everything that `config` needs and changes nothing. The returned function applies it and cannot fail.
   * Throws the SidecarError that a start would throw.
   */
  prepareReload(config: Config): Promise<() => void>;
  readonly reloads: Reloads;
}

type ReloadOutcome =
  /** Names of keys: those in force from now on, and those that wait for a restart. */
  | { readonly kind: 'applied'; readonly changed: readonly string[]; readonly waiting: readonly string[] }
  /** Nothing has changed. `problems`: one line each, as at a start. Without `code` it is a bug in this program. */
  | { readonly kind: 'refused'; readonly code: ErrorCode | undefined; readonly problems: readonly string[] };

/** Counters since the start, for /metrics. */
export class Reloads {
  readonly results = { applied: 0, refused: 0 };
  /** When the configuration in force was read, in milliseconds since 1970. */
  lastAppliedEpochMs: number;
  /** False from a refused reload until the next applied one. */
  isLastApplied = true;
  /** Number of keys whose values in the file wait for a restart. */
  waiting = 0;
  readonly #clock: Clock;

  /** Create this after the first configuration was read, which counts as the last applied one. */
  constructor(clock: Clock) {
    this.#clock = clock;
    this.lastAppliedEpochMs = clock.epochMs();
  }

  record(outcome: ReloadOutcome): void {
    this.results[outcome.kind] += 1;
    this.isLastApplied = outcome.kind === 'applied';
    if (outcome.kind !== 'applied') return;
    this.lastAppliedEpochMs = this.#clock.epochMs();
    this.waiting = outcome.waiting.length;
  }
}

interface ReloaderParts {
  readonly running: ParsedConfig;
  readonly load: () => Promise<LoadedConfig>;
  readonly reloadable: Reloadable;
  readonly logger: Logger;
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
   * Reloads once. `reason` names the source of the request, e.g. `SIGHUP`. Requests that arrive during a reload share
   * the next one, because files may have changed after they were read. Never rejects.
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
    const outcome = await this.#attempt().catch(describeRefusal);
    this.#parts.reloadable.reloads.record(outcome);
    const { logger } = this.#parts;
    if (outcome.kind === 'refused') {
      const { code, problems } = outcome;
      logger.error({ reason, code, problems }, 'the configuration was not reloaded: everything stays as it was');
      return outcome;
    }
    const { changed, waiting } = outcome;
    logger.info({ reason, changed }, 'the configuration was reloaded');
    if (waiting.length > 0)
      logger.warn({ keys: waiting }, `needs a restart: ${waiting.join(', ')}; the rest is in force`);
    return outcome;
  }

  async #attempt(): Promise<ReloadOutcome> {
    const { load, reloadable, onApplied } = this.#parts;
    const { parsed: read } = await load();
    const { config, parsed, changed, waiting } = mergeReloadedConfig(this.#running, read);
    const apply = await reloadable.prepareReload(config);
    apply();
    onApplied(config);
    this.#running = parsed;
    return { kind: 'applied', changed, waiting };
  }
}

function describeRefusal(error: unknown): ReloadOutcome {
  if (error instanceof SidecarError) return { kind: 'refused', code: error.code, problems: error.message.split('\n') };
  // The message could quote secret input, so only the name is shown. An unexpected error is no reason to stop serving.
  const name = error instanceof Error ? error.name : typeof error;
  return { kind: 'refused', code: undefined, problems: [`an unexpected error: ${name}`] };
}

export const RELOAD_METRICS: readonly MetricDescription<Reloads>[] = [
  counter('d2_sidecar_config_reloads_total', 'Reloads of the configuration: applied or refused.', 'results', 'result'),
  gauge(
    'd2_sidecar_config_last_reload_successful',
    'Whether the last reload was applied; 1 before the first.',
    ({ isLastApplied }) => Number(isLastApplied),
  ),
  gauge(
    'd2_sidecar_config_last_reload_success_timestamp_seconds',
    'When the configuration in force was read.',
    ({ lastAppliedEpochMs }) => lastAppliedEpochMs / MS_PER_S,
  ),
  gauge('d2_sidecar_config_keys_waiting_for_restart', 'Changed keys that wait for a restart.', 'waiting'),
];
