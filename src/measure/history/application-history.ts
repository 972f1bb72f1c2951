import type { CallCountsReading } from '../../metrics/call-counts.ts';
import type { DurationSteps } from '../../metrics/duration-steps.ts';
import type { MeterReading } from '../../metrics/meter.ts';
import type { MetricSet } from '../../metrics/metric-set.ts';
import type { TimerReading } from '../../metrics/timer.ts';
import { type Columns, createColumns, MAX_STEPS, placesOf, valueAt } from './columns.ts';
import { MinuteCalls, STEPS_PER_MINUTE, type WorstCall } from './minute-calls.ts';
import { isSparkStep, SparkLines } from './spark-lines.ts';

export interface HistoryApplication {
  readonly name: string;
  readonly statistics: Readonly<Record<'rpc' | 'sba', HistoryCalls>> & { readonly object: { metrics(): MetricSet } };
  readonly sessions: { readonly size: number };
}

interface HistoryCalls {
  metrics(): MetricSet;
  openSteps(): DurationSteps;
  readonly countsByName: ReadonlyMap<string, CallCountsReading>;
  onFolded?: ((row: number, into: number) => void) | undefined;
}

export interface WorstCallOfKind extends WorstCall {
  readonly kind: 'rpc' | 'sba';
}

/** The calls of one step. Durations are in seconds, null when there was no call. */
export interface CallsPoint {
  /** Answered calls. */
  readonly count: number;
  readonly errors: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

export interface ApplicationPoint {
  readonly rpc: CallsPoint;
  readonly sba: CallsPoint;
  readonly values: number;
  /** Sessions at the end of the step. */
  readonly sessions: number;
}

const NS_PER_S = 1e9;
/** Five minutes of steps with calls: the minimum for a usual p95. */
const MIN_USUAL_STEPS = 60;

/** Turns a rising count into the increase of each step. */
class CountSteps {
  readonly #counted: { readonly count: number };
  #last: number;

  constructor(counted: { readonly count: number }) {
    this.#counted = counted;
    this.#last = counted.count;
  }

  take(): number {
    const { count } = this.#counted;
    const step = count - this.#last;
    this.#last = count;
    return step;
  }
}

class CallsHistory {
  readonly #prefix: string;
  readonly #calls: HistoryCalls;
  readonly #count: CountSteps;
  readonly #errors: CountSteps;
  readonly #durations: DurationSteps;
  readonly #sparks: SparkLines;
  readonly #minute: MinuteCalls;
  readonly #columns: Columns<'count' | 'errors' | 'p50' | 'p95' | 'p99'>;

  constructor(prefix: 'rpc' | 'sba', calls: HistoryCalls) {
    this.#prefix = prefix;
    this.#calls = calls;
    const { timers, meters } = calls.metrics();
    const total = timers.get(prefix) as TimerReading;
    this.#count = new CountSteps(total);
    this.#errors = new CountSteps(meters.get(`${prefix}.errors`) as MeterReading);
    this.#durations = calls.openSteps();
    this.#sparks = new SparkLines(this.#names());
    this.#minute = new MinuteCalls(calls.countsByName);
    calls.onFolded = (row, into) => {
      this.#sparks.fold(row, into);
      this.#minute.fold(row, into);
    };
    this.#columns = createColumns(['count', 'errors', 'p50', 'p95', 'p99']);
  }

  sample(place: number, seq: number): void {
    const { count, errors, p50, p95, p99 } = this.#columns;
    const step = this.#durations.take();
    const toSeconds = (ns: number): number => (step.count === 0 ? Number.NaN : ns / NS_PER_S);
    count[place] = this.#count.take();
    errors[place] = this.#errors.take();
    p50[place] = toSeconds(step.p50);
    p95[place] = toSeconds(step.p95);
    p99[place] = toSeconds(step.p99);
    if (isSparkStep(seq)) this.#sparks.take(this.#names());
    this.#minute.take();
  }

  get worst(): WorstCall | undefined {
    return this.#minute.worst;
  }

  at(place: number): CallsPoint {
    const { count, errors, p50, p95, p99 } = this.#columns;
    return {
      count: count[place] as number,
      errors: errors[place] as number,
      p50: valueAt(p50, place),
      p95: valueAt(p95, place),
      p99: valueAt(p99, place),
    };
  }

  /** The median of these steps' p95, in seconds; null if fewer than `atLeast` of them had calls. */
  medianP95(places: readonly number[], atLeast: number): number | null {
    const sorted = places.map((place) => this.#columns.p95[place] as number).filter((p95) => !Number.isNaN(p95));
    if (sorted.length < atLeast) return null;
    return sorted.sort((a, b) => a - b)[Math.floor(sorted.length / 2)] ?? null;
  }

  lineOf(row: number): number[] {
    return this.#sparks.lineOf(row);
  }

  /** Answered calls of each name, with its row. Calls without a name have none. */
  *#names(): Generator<readonly [row: number, count: number]> {
    const { timers } = this.#calls.metrics();
    for (const [name, { row }] of this.#calls.countsByName) {
      if (name !== '') yield [row, timers.get(`${this.#prefix}.${name}`)?.count ?? 0];
    }
  }
}

/** The last hour of one application. It takes 80 KB plus 112 bytes per RPC name. */
export class ApplicationHistory {
  readonly #calls: Readonly<Record<'rpc' | 'sba', CallsHistory>>;
  readonly #values: CountSteps;
  readonly #sessions: HistoryApplication['sessions'];
  readonly #columns: Columns<'values' | 'sessions'>;
  /** Of the newest step; the verdict asks every second. */
  #p95: { readonly seq: number; readonly now: number | null; readonly usual: number | null } | undefined;

  constructor({ statistics, sessions }: HistoryApplication) {
    this.#calls = { rpc: new CallsHistory('rpc', statistics.rpc), sba: new CallsHistory('sba', statistics.sba) };
    this.#values = new CountSteps(statistics.object.metrics().meters.get('object.newValues') as MeterReading);
    this.#sessions = sessions;
    this.#columns = createColumns(['values', 'sessions']);
  }

  /** For `History` only: ends a step. */
  sample(place: number, seq: number): void {
    const { values, sessions } = this.#columns;
    this.#calls.rpc.sample(place, seq);
    this.#calls.sba.sample(place, seq);
    values[place] = this.#values.take();
    sessions[place] = this.#sessions.size;
  }

  at(place: number): ApplicationPoint {
    const { values, sessions } = this.#columns;
    return {
      rpc: this.#calls.rpc.at(place),
      sba: this.#calls.sba.at(place),
      values: values[place] as number,
      sessions: sessions[place] as number,
    };
  }

  /** For `History` only: see its `p95Of`. */
  p95(seq: number): { readonly now: number | null; readonly usual: number | null } {
    if (this.#p95?.seq === seq) return this.#p95;
    const minute = placesOf(seq, STEPS_PER_MINUTE);
    const hour = placesOf(seq, MAX_STEPS).slice(0, -STEPS_PER_MINUTE);
    const { rpc } = this.#calls;
    this.#p95 = { seq, now: rpc.medianP95(minute, 1), usual: rpc.medianP95(hour, MIN_USUAL_STEPS) };
    return this.#p95;
  }

  /** The name with the most failed calls in the last 12 steps; undefined if none failed. */
  get worstCall(): WorstCallOfKind | undefined {
    const { rpc, sba } = this.#calls;
    if (rpc.worst !== undefined && rpc.worst.failed >= (sba.worst?.failed ?? 0)) return { kind: 'rpc', ...rpc.worst };
    return sba.worst && { kind: 'sba', ...sba.worst };
  }

  /** Calls of the name with that row, in each of the last 12 x 25 s, oldest first. */
  lineOf(kind: 'rpc' | 'sba', row: number): number[] {
    return this.#calls[kind].lineOf(row);
  }
}
