/**
 * The numbers that the monitor shows, for the whole application and per session. Statistics count; the metrics that
 * they return (`MetricSet`) are their live views by name. This room knows names, statuses and durations, but neither
 * HTTP nor JSON. Time comes from an injected clock. `NameTable` bounds the number of names from the wire.
 *
 * | What keeps durations | Used by |
 * |---|---|
 * | `Timer` | the application, over the last `metrics.window`; a session and holds of Comet, over their life |
 * | `SparseBuckets` | a slice of a `Timer`: counts for percentiles, in few bytes |
 * | `DurationBuckets` | Prometheus, and what is usual (`hung-calls`): fixed buckets that only grow, in `CallCounts` for each name |
 * | `ExponentialBuckets` | OpenTelemetry: buckets of one scale, with `otlp.metrics.histograms: exponential` |
 * | `DurationSteps` | the live page: all calls since the last step, in a histogram of hdr-histogram-js |
 * | `MinuteCalls` | the history: the running minute of each name |
 * | `AnswerLog` | a session: up to 32 calls that its timers have not counted yet |
 */

import { type Clock, NS_PER_MS } from '../base/clock.ts';
import type { Config } from '../config/config.ts';
import type { SavedFields, SavedRecord } from '../state/saved-record.ts';
import { CallCounts } from './call-counts.ts';
import { CallStatistics } from './call-statistics.ts';
import { CALL_BOUNDS, createBucketBounds, DurationBuckets } from './duration-buckets.ts';
import { MAX_NAME_CHARS, NameBudget } from './name-table.ts';
import { ObjectStatistics } from './object-statistics.ts';
import { Timer } from './timer.ts';

/** Of an application or a session. */
export type Statistics = Pick<SessionStatistics, CountedCall['kind'] | 'recordAnswered'>;

export interface NameCounts {
  /** Answered calls; of an object the received values. */
  readonly count: number;
  readonly errors: number;
  /** Current monitorings of an object. */
  readonly subscriptions: number;
}

/** Status of all logged answers: they had one below 400, and it matters no further. */
const OK = 200;

export type ApplicationStatistics = ReturnType<typeof createStatistics>;

/** Times `metrics.maxNames`: bytes of the names of one kind in all applications (`nameBytes`). */
const BYTES_PER_NAME = 400;
/** A table of few names may have long ones. */
const MIN_NAME_BYTES = 64 * 1024;

/**
 * Timers over `windowMs`, and a budget of names per kind. `isExponential`: counts have exponential buckets as well.
 * `applications`: how many share the bytes of names. With the defaults, `/metrics` then ends within
 * `monitor.maxAnswerBytes`, whatever the names are.
 */
export function createStatistics(
  options: Omit<Config['metrics'], 'prometheus'> & {
    readonly prometheus?: Pick<Config['metrics']['prometheus'], 'buckets'>;
  },
  clock: Clock,
  { isExponential = false, applications = 1 }: { isExponential?: boolean; applications?: number } = {},
) {
  const windowNs = options.windowMs * NS_PER_MS;
  const createCallTimer = (createdNs: number): Timer => new Timer({ clock, windowNs, createdNs });
  const { maxNames } = options;
  let { maxNamesPerSession } = options;
  const bytesOf = (max: number): number => Math.max(MIN_NAME_BYTES, max * BYTES_PER_NAME) / applications;
  const createBudget = (max: number): NameBudget => new NameBudget(max, bytesOf(max));
  const budgets = {
    rpc: createBudget(maxNames.rpc),
    sba: createBudget(maxNames.sba),
    object: createBudget(maxNames.object),
  };
  const buckets = options.prometheus?.buckets;
  const bounds = buckets === undefined ? CALL_BOUNDS : createBucketBounds(buckets);
  const createCounts = (): CallCounts => new CallCounts(bounds, isExponential);
  const calls = { clock, createTimer: createCallTimer, createCounts };
  const kinds = {
    rpc: new CallStatistics({ prefix: 'rpc', ...calls, budget: budgets.rpc }),
    sba: new CallStatistics({ prefix: 'sba', ...calls, budget: budgets.sba }),
    object: new ObjectStatistics({ clock, budget: budgets.object }),
  };
  // Builds the cached sets while they are empty: with 10,000 objects this would block the event loop for 15 ms.
  for (const kind of [kinds.rpc, kinds.sba, kinds.object]) kind.metrics();
  return {
    ...kinds,
    /** Of durations in `/metrics`. */
    bounds,
    recordAnswered: (call: CountedCall, status: number, durationNs: number, nowNs: number) =>
      recordIn(kinds, call, status, durationNs, nowNs),
    /** The caller must consume it to its end. */
    *save() {
      for (const kind of [kinds.rpc, kinds.sba, kinds.object]) yield* kind.save();
    },
    /** Restores one record; ignores those of others. Must be called before anything is recorded. */
    load: (saved: SavedRecord) => {
      const kind = saved.text('record');
      if (isCountedKind(kind)) kinds[kind].load(saved);
    },
    /** Call it after the last `load`: restored names that do not fit count as `(other)`. */
    restored: () => {
      for (const budget of Object.values(budgets)) budget.trim();
    },
    /** A further timer over the same window, with buckets since its creation, e.g. for `sessions.created`. */
    createTimer: () => new Timer({ clock, windowNs, durations: new DurationBuckets(bounds, isExponential) }),
    /** Statistics over a whole session, with one budget of names for all kinds together. */
    createSessionStatistics: () => new SessionStatistics(clock, maxNamesPerSession),
    /** Existing names stay, and existing sessions keep their limit. */
    limitNames: (limits: Pick<Config['metrics'], 'maxNames' | 'maxNamesPerSession'>) => {
      for (const kind of ['rpc', 'sba', 'object'] as const) {
        const max = limits.maxNames[kind];
        budgets[kind].limitTo(max, bytesOf(max));
      }
      maxNamesPerSession = limits.maxNamesPerSession;
    },
  };
}

/** Creates each kind on first use: most sessions use one, and there may be 10,000 sessions. */
export class SessionStatistics {
  readonly #clock: Clock;
  #createdNs: number;
  readonly #budget: NameBudget;
  readonly #log = new AnswerLog((call, durationNs, nowNs) => recordIn(this, call, OK, durationNs, nowNs));
  #rpc: CallStatistics | undefined;
  #sba: CallStatistics | undefined;
  #object: ObjectStatistics | undefined;

  constructor(clock: Clock, maxNames: number) {
    this.#clock = clock;
    this.#createdNs = clock.nowNs();
    this.#budget = new NameBudget(maxNames);
  }

  get rpc(): CallStatistics {
    this.#log.drain();
    this.#rpc ??= this.#createCalls('rpc');
    return this.#rpc;
  }

  get sba(): CallStatistics {
    this.#log.drain();
    this.#sba ??= this.#createCalls('sba');
    return this.#sba;
  }

  get object(): ObjectStatistics {
    this.#log.drain();
    this.#object ??= new ObjectStatistics({ clock: this.#clock, budget: this.#budget, createdNs: this.#createdNs });
    return this.#object;
  }

  get errorCount(): number {
    return (this.#rpc?.total.errorCount ?? 0) + (this.#sba?.total.errorCount ?? 0);
  }

  /** An answered call, e.g. `{ kind: 'rpc', name: 'E.Demo.TestInOut' }`; for `object` a read. 4xx creates no name. */
  recordAnswered(call: CountedCall, status: number, durationNs: number, nowNs: number): void {
    // Errors are counted at once, so that reading `errorCount` of 10,000 sessions need not drain their logs.
    if (status < 400) this.#log.add(call, durationNs, nowNs);
    else recordIn(this, call, status, durationNs, nowNs);
  }

  /** What a name has counted, without creating anything. */
  countsOf(call: CountedCall): NameCounts {
    const { kind, name } = call;
    const logged = this.#log.countOf(call);
    if (kind === 'object') {
      const { subscriptions, newValues } = this.#object?.objects.get(name) ?? {};
      return { count: (newValues?.count ?? 0) + logged, errors: 0, subscriptions: subscriptions?.count ?? 0 };
    }
    const { count = 0, errors = 0 } = (kind === 'rpc' ? this.#rpc : this.#sba)?.countOf(name) ?? {};
    return { count: count + logged, errors, subscriptions: 0 };
  }

  /** Saves the log as it is: to count it first would create the timers of each session, 40 MB for 10,000 sessions. */
  *save(): Generator<SavedFields> {
    yield { record: 'session-statistics', createdNs: this.#createdNs };
    for (const kind of [this.#rpc, this.#sba, this.#object]) if (kind !== undefined) yield* kind.save();
    yield { record: 'session-answers', answers: this.#log.save() };
  }

  /** The answers come last: the kinds are restored before anything is recorded. */
  load(saved: SavedRecord): void {
    const kind = saved.text('record');
    if (kind === 'session-statistics') this.#createdNs = saved.moment('createdNs');
    else if (kind === 'session-answers') this.#log.load(saved.records('answers'));
    else if (isCountedKind(kind)) this[kind].load(saved);
  }

  #createCalls(prefix: 'rpc' | 'sba'): CallStatistics {
    const clock = this.#clock;
    const createTimer = (createdNs: number): Timer => new Timer({ clock, createdNs });
    return new CallStatistics({ prefix, clock, createTimer, budget: this.#budget, createdNs: this.#createdNs });
  }
}

function recordIn(
  statistics: Pick<Statistics, CountedCall['kind']>,
  { kind, name }: CountedCall,
  status: number,
  durationNs: number,
  nowNs: number,
): void {
  if (kind === 'object') statistics.object.recordRead(name, status, nowNs);
  else statistics[kind].recordAnswered(name, status, durationNs, nowNs);
}

/** Calls in a full log, which takes 1 KB per session. */
const CAPACITY = 32;

export interface CountedCall {
  readonly kind: 'rpc' | 'sba' | 'object';
  readonly name: string;
}

/**
 * Answered calls of one session that are not counted yet. A session's timers are spread over hundreds of cache lines,
 * which are cold when its user calls again after 300 others. An entry here touches three; 32 calls are then counted at
 * once. Saves 3 to 5 % of a call on a large plant.
 */
class AnswerLog {
  readonly #count: (call: CountedCall, durationNs: number, nowNs: number) => void;
  readonly #calls: CountedCall[] = [];
  readonly #numbers: number[] = [];
  /** The arrays are never shortened: that would free memory that the next `add` allocates again. */
  #length = 0;

  constructor(count: (call: CountedCall, durationNs: number, nowNs: number) => void) {
    this.#count = count;
  }

  add(call: CountedCall, durationNs: number, nowNs: number): void {
    const at = this.#length;
    this.#calls[at] = call;
    this.#numbers[2 * at] = durationNs;
    this.#numbers[2 * at + 1] = nowNs;
    this.#length += 1;
    if (this.#length === CAPACITY) this.drain();
  }

  countOf({ kind, name }: CountedCall): number {
    let count = 0;
    for (let at = 0; at < this.#length; at += 1) {
      const call = this.#calls[at] as CountedCall;
      if (call.kind === kind && call.name === name) count += 1;
    }
    return count;
  }

  drain(): void {
    const length = this.#length;
    this.#length = 0;
    for (let at = 0; at < length; at += 1) {
      this.#count(this.#calls[at] as CountedCall, this.#numbers[2 * at] as number, this.#numbers[2 * at + 1] as number);
    }
  }

  save(): readonly SavedFields[] {
    return this.#calls.slice(0, this.#length).map(({ kind, name }, at) => ({
      kind,
      // No table has bounded these names. A cut one is still too long, so it counts as `(other)` as well.
      name: name.slice(0, MAX_NAME_CHARS + 1),
      ...{ durationNs: this.#numbers[2 * at], endedNs: this.#numbers[2 * at + 1] },
    }));
  }

  load(answers: readonly SavedRecord[]): void {
    for (const saved of answers) {
      const kind = saved.text('kind');
      if (!isCountedKind(kind)) continue;
      this.add({ kind, name: saved.textOrThrow('name') }, saved.number('durationNs'), saved.moment('endedNs'));
    }
  }
}

function isCountedKind(kind: string | undefined): kind is CountedCall['kind'] {
  return kind === 'rpc' || kind === 'sba' || kind === 'object';
}
