/**
 * The numbers that the monitor shows, for the whole application and per session. This room knows names, statuses and
 * durations, but neither HTTP nor JSON. Time comes from an injected clock. `NameTable` bounds everything that the wire
 * names.
 */

import { type Clock, NS_PER_MS } from '../base/clock.ts';
import type { Config, MaxNames } from '../config/config.ts';
import type { ArchiveReader } from '../state/archive/archive-reader.ts';
import type { ArchiveWriter } from '../state/archive/archive-writer.ts';
import { AnswerLog, type TimedCall } from './answer-log.ts';
import { CallStatistics } from './call-statistics.ts';
import { DurationBuckets } from './duration-buckets.ts';
import { HistogramPool } from './histogram-pool.ts';
import { LifetimeTimer } from './lifetime-timer.ts';
import { NameBudget } from './name-table.ts';
import { ObjectStatistics } from './object-statistics.ts';
import type { Timer } from './timer.ts';
import { WindowTimer } from './window-timer.ts';

export interface Statistics {
  readonly rpc: CallStatistics;
  readonly sba: CallStatistics;
  readonly object: ObjectStatistics;
  readonly errorCount: number;
  /** Same as `recordAnswered` of the call's kind. Visible to the next read; sessions batch these. */
  recordAnswered(call: TimedCall, status: number, durationNs: number, nowNs: number): void;
  /** Pauses after small parts. The caller must consume it to its end. */
  save(out: ArchiveWriter): Iterable<void>;
  /** Must be called before anything is recorded. */
  load(input: ArchiveReader): void;
}

export interface ApplicationStatistics extends Statistics {
  /** A further timer over the same window, with buckets since its creation, e.g. for `sessions.created`. */
  createTimer(): Timer;
  /** Existing names stay. */
  limitNames(maxNames: MaxNames): void;
  /** Frees memory that the garbage collector does not see. Recording and reading are not allowed after it. */
  destroy(): void;
}

/** Timers over `windowMs`, and a budget of names per kind. Needs `initMetrics`. */
export function createStatistics(options: Config['metrics'], clock: Clock): ApplicationStatistics {
  const histograms = new HistogramPool();
  const windowNs = options.windowMs * NS_PER_MS;
  const createTimer = (createdNs: number, alsoInto?: DurationBuckets): Timer =>
    new WindowTimer({ clock, windowNs, histograms, createdNs, alsoInto });
  const { maxNames } = options;
  const budgets = {
    rpc: new NameBudget(maxNames.rpc),
    sba: new NameBudget(maxNames.sba),
    object: new NameBudget(maxNames.object),
  };
  const calls = { clock, createTimer, keepsCounts: true, showsEarly: true };
  const kinds = {
    rpc: new CallStatistics({ prefix: 'rpc', ...calls, budget: budgets.rpc }),
    sba: new CallStatistics({ prefix: 'sba', ...calls, budget: budgets.sba }),
    object: new ObjectStatistics({ clock, budget: budgets.object, showsEarly: true }),
  };
  return {
    ...kinds,
    get errorCount() {
      return kinds.rpc.errorCount + kinds.sba.errorCount;
    },
    recordAnswered: (call, status, durationNs, nowNs) => kinds[call.kind].recordCall(call, status, durationNs, nowNs),
    *save(out) {
      for (const kind of [kinds.rpc, kinds.sba, kinds.object]) yield* kind.save(out);
    },
    load: (input) => {
      for (const kind of [kinds.rpc, kinds.sba, kinds.object]) kind.load(input);
    },
    createTimer: () => new WindowTimer({ clock, windowNs, histograms, durations: new DurationBuckets() }),
    limitNames: (limits) => {
      for (const kind of ['rpc', 'sba', 'object'] as const) budgets[kind].limitTo(limits[kind]);
    },
    destroy: () => histograms.destroy(),
  };
}

/** Timers over the whole session, and one budget of names (default 200) for all kinds together. */
export function createSessionStatistics(options: Config['metrics'], clock: Clock): Statistics {
  return new SessionStatistics(clock, options.maxNamesPerSession);
}

/** Stands for every status below 400: a session does not distinguish them. */
const OK = 200;

/** Creates each kind on first use: most sessions use one, and there may be 10,000 sessions. */
class SessionStatistics implements Statistics {
  /** The first field, because every call needs it: see `Session`. */
  #log: AnswerLog | undefined;
  readonly #clock: Clock;
  #createdNs: number;
  readonly #budget: NameBudget;
  #rpc: CallStatistics | undefined;
  #sba: CallStatistics | undefined;
  #object: ObjectStatistics | undefined;

  constructor(clock: Clock, maxNames: number) {
    this.#clock = clock;
    this.#createdNs = clock.nowNs();
    this.#budget = new NameBudget(maxNames);
  }

  get rpc(): CallStatistics {
    this.#countLogged();
    return this.#calls('rpc');
  }

  get sba(): CallStatistics {
    this.#countLogged();
    return this.#calls('sba');
  }

  get object(): ObjectStatistics {
    this.#countLogged();
    this.#object ??= new ObjectStatistics({ clock: this.#clock, budget: this.#budget, createdNs: this.#createdNs });
    return this.#object;
  }

  get errorCount(): number {
    return (this.#rpc?.errorCount ?? 0) + (this.#sba?.errorCount ?? 0);
  }

  recordAnswered(call: TimedCall, status: number, durationNs: number, nowNs: number): void {
    // Errors are counted at once: session lists show their number without draining every log. Errors are few, and log
    // entries thus need no status.
    if (status >= 400) {
      this[call.kind].recordAnswered(call.name, status, durationNs, nowNs);
      return;
    }
    this.#log ??= new AnswerLog();
    if (this.#log.isFull) this.#countLogged();
    this.#log.add(call, durationNs, nowNs);
  }

  *save(out: ArchiveWriter): Generator<void> {
    this.#countLogged();
    out.moment(this.#createdNs);
    for (const kind of [this.#rpc, this.#sba, this.#object]) {
      out.flag(kind !== undefined);
      if (kind !== undefined) yield* kind.save(out);
    }
  }

  load(input: ArchiveReader): void {
    this.#createdNs = input.moment();
    if (input.flag()) this.rpc.load(input);
    if (input.flag()) this.sba.load(input);
    if (input.flag()) this.object.load(input);
  }

  #countLogged(): void {
    this.#log?.drain(({ kind, name }, durationNs, nowNs) => {
      this.#calls(kind).recordAnswered(name, OK, durationNs, nowNs);
    });
  }

  #calls(kind: 'rpc' | 'sba'): CallStatistics {
    if (kind === 'rpc') {
      this.#rpc ??= this.#createCalls('rpc');
      return this.#rpc;
    }
    this.#sba ??= this.#createCalls('sba');
    return this.#sba;
  }

  #createCalls(prefix: 'rpc' | 'sba'): CallStatistics {
    const clock = this.#clock;
    const createTimer = (createdNs: number): Timer => new LifetimeTimer(clock, createdNs);
    return new CallStatistics({ prefix, clock, createTimer, budget: this.#budget, createdNs: this.#createdNs });
  }
}
