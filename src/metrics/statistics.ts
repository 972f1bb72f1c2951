/**
 * The numbers that the monitor shows, for the whole application and for each session. This room counts and computes; it knows
 * names, statuses and durations, but neither HTTP nor JSON. Time comes from an injected clock. Everything named by the wire
 * goes through a `NameTable`, which bounds it.
 */
import { type Clock, NS_PER_MS } from '../clock.ts';
import type { Config } from '../config/config.ts';
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
}

export interface ApplicationStatistics extends Statistics {
  /** One more timer over the same window, with buckets since its creation, e.g. for `sessions.created`. */
  createTimer(): Timer;
  /** Frees memory that the garbage collector does not see. Nothing may be recorded or read after it. */
  destroy(): void;
}

/** Statistics of the whole application: timers over `windowMs`, and a budget of names for each kind. Needs `initMetrics`. */
export function createStatistics(options: Config['metrics'], clock: Clock): ApplicationStatistics {
  const histograms = new HistogramPool();
  const windowNs = options.windowMs * NS_PER_MS;
  const createTimer = (createdNs: number): Timer => new WindowTimer({ clock, windowNs, histograms, createdNs });
  const { rpc, sba, object } = options.maxNames;
  const calls = { clock, createTimer, keepsCounts: true };
  return {
    rpc: new CallStatistics({ prefix: 'rpc', ...calls, budget: new NameBudget(rpc) }),
    sba: new CallStatistics({ prefix: 'sba', ...calls, budget: new NameBudget(sba) }),
    object: new ObjectStatistics({ clock, budget: new NameBudget(object) }),
    createTimer: () => new WindowTimer({ clock, windowNs, histograms, durations: new DurationBuckets() }),
    destroy: () => histograms.destroy(),
  };
}

/** Statistics of one session: timers over its whole life, and one budget of names (default 200) over all kinds together. */
export function createSessionStatistics(options: Config['metrics'], clock: Clock): Statistics {
  return new SessionStatistics(clock, options.maxNamesPerSession);
}

/** Makes each kind when it is first asked for: most sessions use one, and there may be 10,000 sessions. */
class SessionStatistics implements Statistics {
  readonly #clock: Clock;
  readonly #createdNs: number;
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
    this.#rpc ??= this.#createCalls('rpc');
    return this.#rpc;
  }

  get sba(): CallStatistics {
    this.#sba ??= this.#createCalls('sba');
    return this.#sba;
  }

  get object(): ObjectStatistics {
    this.#object ??= new ObjectStatistics({ clock: this.#clock, budget: this.#budget, createdNs: this.#createdNs });
    return this.#object;
  }

  #createCalls(prefix: 'rpc' | 'sba'): CallStatistics {
    const clock = this.#clock;
    const createTimer = (createdNs: number): Timer => new LifetimeTimer(clock, createdNs);
    return new CallStatistics({ prefix, clock, createTimer, budget: this.#budget, createdNs: this.#createdNs });
  }
}
