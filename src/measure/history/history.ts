/**
 * The last hour for the live page: each step of 5 s, each name in minutes, and events. Bounded, and not saved. The
 * folder reads existing counters, and must not know HTTP. Steps are longer if the process was blocked or suspended.
 */

import { type Clock, MS_PER_S, NS_PER_S } from '../../base/clock.ts';
import { counter, gauge, type MetricDescription } from '../../base/metric-description.ts';
import {
  ApplicationHistory,
  type EndedMinute,
  type HistoryApplication,
  type HistoryPoint,
  type SharedPoint,
} from './application-history.ts';
import { JvmHistory } from './jvm-history.ts';
import { type Mark, type MarkKind, type MarkSources, Marks } from './marks.ts';
import type { NameKind, NameMinute } from './minute-record.ts';
import {
  createIncrease,
  type ReadCounters,
  type RecentCount,
  RecentCounts,
  STEP_SECONDS,
  STEPS_PER_MINUTE,
  sumOf,
} from './steps.ts';

export interface HistorySources extends MarkSources {
  readonly applications: readonly HistoryApplication[];
  readonly own: {
    readonly aborted: CallsOfKinds;
    readonly unanswered: CallsOfKinds;
    readonly comet: { readonly holds: { readonly now: number } };
  };
  /** Counters whose increase the page shows. */
  readonly counters: ReadCounters;
  readonly isRestored: boolean;
  readonly earlier?: Earlier | undefined;
}

/** The last hour of an earlier process, oldest first. */
export interface Earlier {
  readonly minutes: readonly EndedMinute[];
  readonly marks: readonly Mark[];
}

/** Steps end this long after a multiple of 5 s by the wall clock, so that minutes end after its minutes. */
const STEP_DELAY_MS = 10;
const STEP_MS = STEP_SECONDS * MS_PER_S;

type CallsOfKinds = Readonly<Record<'rpc' | 'sba', number>>;

export class History {
  readonly startedEpochMs: number;
  readonly #sources: HistorySources;
  readonly #clock: Clock;
  readonly #marks: Marks;
  readonly #applications: ReadonlyMap<string, ApplicationHistory>;
  readonly #jvm = new JvmHistory();
  readonly #recent: RecentCounts;
  readonly #aborted: () => number;
  readonly #unanswered: () => number;
  /** The last 12 steps. */
  #minute: readonly SharedPoint[] = [];
  /** Number of the newest step; 0 before the first. */
  seq = 0;
  #sampledNs: number;
  #timer: NodeJS.Timeout | undefined;
  /** Each gets the minutes that ended with a step. */
  readonly onMinutes: ((minutes: readonly EndedMinute[]) => void)[] = [];
  /** Gets the minutes that ended with a step, and all marks. */
  onStep: ((minutes: readonly EndedMinute[], marks: readonly Mark[]) => void) | undefined;

  /** Create it after saved state has been loaded. */
  constructor(sources: HistorySources, clock: Clock) {
    this.#sources = sources;
    this.#clock = clock;
    this.startedEpochMs = clock.epochMs();
    this.#marks = new Marks(sources, clock);
    const { minutes, marks } = sources.earlier ?? { minutes: [], marks: [] };
    for (const mark of marks) this.#marks.restore(mark);
    const earlierOf = (name: string) => minutes.filter(({ application }) => application === name);
    const create = (one: HistoryApplication) => new ApplicationHistory(one, this.startedEpochMs, earlierOf(one.name));
    this.#applications = new Map(sources.applications.map((one) => [one.name, create(one)]));
    this.seq = Math.max(0, ...Array.from(this.#applications.values(), ({ earlierSeq }) => earlierSeq));
    this.#recent = new RecentCounts(sources.counters);
    this.#sampledNs = clock.nowNs();
    const { aborted, unanswered } = sources.own;
    this.#aborted = createIncrease(() => aborted.rpc + aborted.sba);
    this.#unanswered = createIncrease(() => unanswered.rpc + unanswered.sba);
    const epochMs = this.startedEpochMs;
    this.#marks.add('start', 'The sidecar has started.', epochMs);
    if (sources.isRestored) this.#marks.add('restored', 'The counts from before the restart were restored.', epochMs);
  }

  /** Ends a step every 5 s until `stop`. `shield` runs each step and handles what it throws. */
  start(shield: (work: () => void) => void): void {
    const sinceStepMs = (this.#clock.epochMs() - STEP_DELAY_MS) % STEP_MS;
    // A timer may fire a little early; then the next step is not a very short one.
    const waitMs = STEP_MS - sinceStepMs + (sinceStepMs > STEP_MS / 2 ? STEP_MS : 0);
    this.#timer = setTimeout(() => {
      shield(() => this.sample());
      this.start(shield);
    }, waitMs).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Ends the running minute early, when all counting has ended. */
  end(): void {
    this.sample();
    const ended = Array.from(this.#applications.values(), (application) => application.endMinute());
    this.#marks.end();
    this.onStep?.(ended, this.marks);
  }

  /** At most 200, oldest first. Includes changes since the last step. */
  get marks(): readonly Mark[] {
    this.#marks.check();
    return this.#marks.all;
  }

  /** Adds an event that this room does not see itself, such as a verdict. */
  mark(kind: MarkKind, text: string): Mark {
    return this.#marks.add(kind, text);
  }

  get droppedMarks(): number {
    return this.#marks.dropped;
  }

  of(application: string): ApplicationHistory | undefined {
    return this.#applications.get(application);
  }

  recentCounts(): ReadonlyMap<string, RecentCount> {
    return this.#recent.read();
  }

  /** Share of the last minute that collectors took, from 0 to 1; null if no JVM is read. */
  get collectorShare(): number | null {
    const seconds = sumOf(this.#minute.map((point) => point.seconds));
    const pausesMs = this.#minute.flatMap(({ gcPauseMs }) => gcPauseMs ?? []);
    return pausesMs.length === 0 ? null : sumOf(pausesMs) / (seconds * MS_PER_S);
  }

  sample(): void {
    const nowNs = this.#clock.nowNs();
    const elapsedNs = nowNs - this.#sampledNs;
    if (elapsedNs <= 0) return;
    this.#sampledNs = nowNs;
    const point: SharedPoint = {
      seq: this.seq + 1,
      epochMs: this.#clock.epochMs(),
      seconds: elapsedNs / NS_PER_S,
      aborted: this.#aborted(),
      unanswered: this.#unanswered(),
      holds: this.#sources.own.comet.holds.now,
      ...this.#jvm.sample(this.#sources.jvm.state),
    };
    this.#minute = [...this.#minute, point].slice(-STEPS_PER_MINUTE);
    const ended = Array.from(this.#applications.values()).flatMap((application) => application.sample(point) ?? []);
    this.#recent.take();
    this.seq = point.seq;
    const { marks } = this;
    if (ended.length > 0) for (const listener of this.onMinutes) listener(ended);
    this.onStep?.(ended, marks);
  }

  /** Steps later than `since`, oldest first; all if `since` is beyond the newest, as it is of an earlier process. */
  points(application: string, since = 0): readonly HistoryPoint[] {
    return this.#applications.get(application)?.pointsAfter(since > this.seq ? 0 : since) ?? [];
  }

  /** What the name did in each of the last 60 minutes, and in the running one, oldest first. */
  minutesOf(application: string, kind: NameKind, name: string): readonly NameMinute[] {
    const sinceStep = (this.#clock.nowNs() - this.#sampledNs) / NS_PER_S;
    return this.#applications.get(application)?.minutesOf(kind, name, this.#clock.epochMs(), sinceStep) ?? [];
  }

  /** Of all applications. */
  get minutes(): { readonly bytes: number; readonly dropped: number } {
    const records = [...this.#applications.values()].map(({ minutes }) => minutes);
    return { bytes: sumOf(records.map(({ bytes }) => bytes)), dropped: sumOf(records.map(({ dropped }) => dropped)) };
  }
}

export const HISTORY_METRICS: readonly MetricDescription<Pick<History, 'droppedMarks' | 'minutes'>>[] = [
  gauge(
    'd2_sidecar_history_bytes',
    'What each name did in each minute of the last hour.',
    ({ minutes }) => minutes.bytes,
  ),
  counter(
    'd2_sidecar_history_evictions_total',
    'Minutes dropped before an hour was over, for lack of room.',
    ({ minutes }) => minutes.dropped,
  ),
  counter('d2_sidecar_history_marks_dropped_total', 'Marks of the live page evicted by later ones.', 'droppedMarks'),
];
