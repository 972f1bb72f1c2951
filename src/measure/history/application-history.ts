import { MS_PER_S, NS_PER_S } from '../../base/clock.ts';
import type { CallCounts } from '../../metrics/call-counts.ts';
import type { CallStatistics } from '../../metrics/call-statistics.ts';
import type { DurationSteps } from '../../metrics/duration-steps.ts';
import type { JvmPoint } from './jvm-history.ts';
import { type Minute, MinuteRecord, type MinuteSources, type NameKind, type NameMinute } from './minute-record.ts';
import {
  createIncrease,
  MAX_STEPS,
  type NameCount,
  NameSteps,
  SPARK_POINTS,
  STEPS_PER_MINUTE,
  STEPS_PER_SPARK_POINT,
  sumOf,
} from './steps.ts';

export interface HistoryApplication {
  readonly name: string;
  readonly statistics: MinuteSources;
  readonly sessions: { readonly size: number; readonly created: { readonly count: number } };
  readonly totals: { readonly counts: Readonly<Record<CountOfCalls, number>> };
}

/** Of all calls of an application, each of which ends in one of the first five; times in seconds. */
type CountOfCalls = 'ok' | 'clientErrors' | 'errors' | 'unanswered' | 'aborted' | 'durationS' | 'clientWaitS';

/** The name with the most failed calls in the last 55 to 60 s, e.g. `{ name: 'E.Demo.Run', failed: 71, ended: 143 }`. */
export interface WorstCallOfKind {
  readonly kind: 'rpc' | 'sba';
  readonly name: string;
  /** The `errors` of `CallCounts`: answers with status 500 and above are among them. */
  readonly failed: number;
  /** All calls of the name that ended, including failed ones. */
  readonly ended: number;
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

export interface SharedPoint extends JvmPoint {
  /** 1 for the first step, without gaps. */
  readonly seq: number;
  /** End of the step, in milliseconds since 1970. */
  readonly epochMs: number;
  readonly seconds: number;
  /** RPC and SBA calls whose client left in the step. */
  readonly aborted: number;
  /** RPC and SBA calls without an answer from the upstream; `count` does not include them, `errors` does. */
  readonly unanswered: number;
  /** Comet holds at the end of the step. */
  readonly holds: number;
}

export interface HistoryPoint extends SharedPoint {
  readonly rpc: CallsPoint;
  readonly sba: CallsPoint;
  readonly values: number;
  /** Sessions at the end of the step. */
  readonly sessions: number;
  readonly times: TimesPoint;
}

/** Where the calls of a step, of all kinds, spent their time; in seconds. */
export interface TimesPoint {
  readonly ended: number;
  readonly durationS: number;
  readonly clientWaitS: number;
}

/** A minute of the wall clock, or the part of it that this process saw. */
export interface EndedMinute extends Minute {
  readonly application: string;
  /** Its beginning, in seconds since 1970. */
  readonly time: number;
  readonly points: readonly HistoryPoint[];
  /** Sessions that began in it. */
  readonly created: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Five minutes of steps with calls: the minimum for a usual p95. */
const MIN_USUAL_STEPS = 60;

class CallsHistory {
  readonly #prefix: 'rpc' | 'sba';
  readonly #calls: CallStatistics;
  readonly #count: () => number;
  readonly #errors: () => number;
  readonly #durations: DurationSteps;
  readonly #answeredByName: NameSteps;
  readonly #endedByName: NameSteps;
  readonly #failedByName: NameSteps;

  constructor(prefix: 'rpc' | 'sba', calls: CallStatistics) {
    this.#prefix = prefix;
    this.#calls = calls;
    const { timer, errors } = calls.total;
    this.#count = createIncrease(() => timer.count);
    this.#errors = createIncrease(() => errors.count);
    this.#durations = timer.openSteps();
    this.#answeredByName = new NameSteps(SPARK_POINTS, this.#answered());
    this.#endedByName = new NameSteps(STEPS_PER_MINUTE, this.#ended());
    this.#failedByName = new NameSteps(STEPS_PER_MINUTE, this.#failed());
    calls.foldListeners.add((name, into) => {
      for (const steps of [this.#answeredByName, this.#endedByName, this.#failedByName]) steps.fold(name, into);
    });
  }

  sample(seq: number): CallsPoint {
    if (seq % STEPS_PER_SPARK_POINT === 0) this.#answeredByName.take(this.#answered());
    this.#endedByName.take(this.#ended());
    this.#failedByName.take(this.#failed());
    const step = this.#durations.take();
    const [count, errors] = [this.#count(), this.#errors()];
    if (step.count === 0) return { count, errors, p50: null, p95: null, p99: null };
    return { count, errors, p50: step.p50 / NS_PER_S, p95: step.p95 / NS_PER_S, p99: step.p99 / NS_PER_S };
  }

  /** Of this moment, not of the last step, as the figures beside it. Undefined if no call with a name failed. */
  get worst(): WorstCallOfKind | undefined {
    const { name, count: failed } = this.#failedByName.largestOf(this.#failed()) ?? { count: 0 };
    const counts = name === undefined ? undefined : this.#calls.countsByName.get(name);
    if (name === undefined || counts === undefined) return undefined;
    return { kind: this.#prefix, name, failed, ended: this.#endedByName.recentOf({ name, count: endedOf(counts) }) };
  }

  lineOf(name: string): readonly number[] {
    return this.#answeredByName.increasesOf(name);
  }

  *#countsOf(read: (counts: CallCounts, name: string) => number): Generator<NameCount> {
    for (const [name, counts] of this.#calls.countsByName) if (name !== '') yield { name, count: read(counts, name) };
  }

  #answered(): Generator<NameCount> {
    return this.#countsOf((_, name) => this.#calls.countOf(name).count);
  }

  #ended(): Generator<NameCount> {
    return this.#countsOf(endedOf);
  }

  #failed(): Generator<NameCount> {
    return this.#countsOf(({ errors }) => errors);
  }
}

function endedOf({ ok, clientErrors, errors }: CallCounts): number {
  return ok + clientErrors + errors;
}

/** The last hour of one application: 0.4 MB, at most 1 KB for each name of a call, and `MinuteRecord`. */
export class ApplicationHistory {
  readonly #name: string;
  readonly #calls: Readonly<Record<'rpc' | 'sba', CallsHistory>>;
  readonly #values: () => number;
  readonly #created: () => number;
  readonly #sessions: HistoryApplication['sessions'];
  readonly #times: { readonly [Key in keyof TimesPoint]: () => number };
  /** Oldest first. */
  readonly #points: HistoryPoint[];
  readonly minutes: MinuteRecord;
  /** The last step of an earlier process; 0 without one. */
  readonly earlierSeq: number;
  /** The running minute: its number since 1970, and its steps. */
  #minute: number;
  #minutePoints: HistoryPoint[] = [];
  /** Medians of the steps' p95 of RPCs, in seconds: of the last minute, and of the hour before. Null with too few steps. */
  p95: { readonly now: number | null; readonly usual: number | null } = { now: null, usual: null };

  /** `earlier`: of an earlier process, oldest first. */
  constructor(application: HistoryApplication, epochMs: number, earlier: readonly EndedMinute[] = []) {
    const { name, statistics, sessions, totals } = application;
    const { counts } = totals;
    this.#name = name;
    this.#minute = Math.floor(epochMs / MINUTE_MS);
    this.#points = earlier.flatMap(({ points }) => points).map((point, at) => ({ ...point, seq: at + 1 }));
    this.earlierSeq = this.#points.length;
    this.#calls = { rpc: new CallsHistory('rpc', statistics.rpc), sba: new CallsHistory('sba', statistics.sba) };
    this.minutes = new MinuteRecord(statistics, earlier);
    const { newValues } = statistics.object.total;
    this.#values = createIncrease(() => newValues.count);
    this.#sessions = sessions;
    this.#created = createIncrease(() => sessions.created.count);
    this.#times = {
      ended: createIncrease(() => counts.ok + counts.clientErrors + counts.errors + counts.unanswered + counts.aborted),
      durationS: createIncrease(() => counts.durationS),
      clientWaitS: createIncrease(() => counts.clientWaitS),
    };
  }

  /** Returns the minute if it ends with this step. */
  sample(shared: SharedPoint): EndedMinute | undefined {
    const { rpc, sba } = this.#calls;
    const calls = { rpc: rpc.sample(shared.seq), sba: sba.sample(shared.seq) };
    const { ended, durationS, clientWaitS } = this.#times;
    const times = { ended: ended(), durationS: durationS(), clientWaitS: clientWaitS() };
    const point = { ...shared, ...calls, values: this.#values(), sessions: this.#sessions.size, times };
    this.#points.push(point);
    this.#minutePoints.push(point);
    const isOld = ({ seq, epochMs }: HistoryPoint) => seq <= this.earlierSeq && epochMs < shared.epochMs - HOUR_MS;
    while (this.#points.length > MAX_STEPS || this.#points.slice(0, 1).some(isOld)) this.#points.shift();
    this.p95 = {
      now: medianP95(
        this.#points.slice(-STEPS_PER_MINUTE).filter(({ seq }) => seq > this.earlierSeq),
        1,
      ),
      usual: medianP95(this.#points.slice(0, -STEPS_PER_MINUTE), MIN_USUAL_STEPS),
    };
    const minute = Math.floor(shared.epochMs / MINUTE_MS);
    return minute === this.#minute ? undefined : this.endMinute(minute);
  }

  /** `next`: number of the minute that begins. */
  endMinute(next = this.#minute): EndedMinute {
    const [points, time] = [this.#minutePoints, (this.#minute * MINUTE_MS) / MS_PER_S];
    const epochMs = points.at(-1)?.epochMs ?? time * MS_PER_S;
    const minute = this.minutes.take({ epochMs, seconds: sumOf(points.map(({ seconds }) => seconds)) });
    this.#minute = next;
    this.#minutePoints = [];
    return { ...minute, application: this.#name, time, points, created: this.#created() };
  }

  /** `sinceStep`: seconds since the last step. */
  minutesOf(kind: NameKind, name: string, epochMs: number, sinceStep: number): readonly NameMinute[] {
    const seconds = sumOf(this.#minutePoints.map((point) => point.seconds)) + sinceStep;
    return this.minutes.of(kind, name, { epochMs, seconds });
  }

  pointsAfter(seq: number): readonly HistoryPoint[] {
    return this.#points.filter((point) => point.seq > seq);
  }

  get worstCall(): WorstCallOfKind | undefined {
    const [rpc, sba] = [this.#calls.rpc.worst, this.#calls.sba.worst];
    return (rpc?.failed ?? 0) >= (sba?.failed ?? 0) ? rpc : sba;
  }

  /** Calls of the name in each of the last 12 x 25 s, oldest first. */
  lineOf(kind: 'rpc' | 'sba', name: string): readonly number[] {
    return this.#calls[kind].lineOf(name);
  }
}

/** The median of these steps' p95 of RPCs, in seconds; null if fewer than `atLeast` of them had calls. */
function medianP95(points: readonly HistoryPoint[], atLeast: number): number | null {
  const sorted = points.flatMap(({ rpc: { p95 } }) => p95 ?? []);
  if (sorted.length < atLeast) return null;
  return sorted.sort((a, b) => a - b)[Math.floor(sorted.length / 2)] ?? null;
}
