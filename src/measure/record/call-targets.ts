import { type Clock, NS_PER_MS } from '../../base/clock.ts';
import type { Config } from '../../config/config.ts';
import type { SavedFields, SavedRecord } from '../../state/saved-record.ts';
import type { CallKind } from '../classify/classifier.ts';
import type { SlowOutcome } from './call-totals.ts';

interface Counts {
  met: number;
  missed: number;
}

type Target = Config['calls']['targets'][number];

/** A target of `calls.targets`, and the calls that have met and missed it. */
interface Counted extends Counts, Target {
  /** Of the last call that has missed it. */
  kind: 'rpc' | 'sba';
  /** The calls of this month (UTC). */
  month: Counts;
  /** Those of each of the last 60 minutes, oldest first, fewer for a young target; the last has not ended. */
  readonly hour: Counts[];
}

export type CountedTarget = Readonly<Counted>;
export type TargetReading = Omit<CountedTarget, 'month' | 'hour'>;

const MS_PER_MINUTE = 60_000;
const HOUR_MINUTES = 60;

const noCalls = (): Counts => ({ met: 0, missed: 0 });

/**
 * Used part of the calls that may miss the target this month. At 1 none is left; above it, the target is missed unless
 * enough calls follow that meet it. Null if none may miss it.
 */
export function allowanceUsedOf({ share, month: { met, missed } }: Pick<CountedTarget, 'share' | 'month'>) {
  if (share === 1) return null;
  // 1 - 0.99 is 0.010000000000000009: unrounded, 1 of 100 would be less than all of the allowance.
  return missed === 0 ? 0 : Number((missed / ((1 - share) * (met + missed))).toPrecision(12));
}

/** Counts RPCs and SBA RPCs by their targets. A call counts for each target that its name matches. */
export class CallTargets {
  readonly #clock: Pick<Clock, 'epochMs'>;
  #minute = -1;
  #month = 0;
  #list: readonly Counted[] = [];
  #byName: ReadonlyMap<string, Counted> = new Map();
  /** Targets of names that begin so, and the lengths of these beginnings: few, whatever the number of targets. */
  #byStart: ReadonlyMap<string, Counted> = new Map();
  #startLengths: readonly number[] = [];

  constructor(clock: Pick<Clock, 'epochMs'>) {
    this.#clock = clock;
  }

  /** Targets that stay, by name and time, keep their counts and their object; one that comes back begins at 0. */
  use(targets: Config['calls']['targets']): void {
    this.#turn();
    const known = new Map(this.#list.map((target) => [keyOf(target), target]));
    this.#list = targets.map((target) =>
      Object.assign(
        known.get(keyOf(target)) ?? { ...noCalls(), kind: 'rpc' as const, month: noCalls(), hour: [noCalls()] },
        target,
      ),
    );
    const isStart = ({ name }: Counted) => name.endsWith('*');
    const named = this.#list.filter((target) => !isStart(target));
    this.#byName = new Map(named.map((target) => [target.name, target]));
    this.#byStart = new Map(this.#list.filter(isStart).map((target) => [target.name.slice(0, -1), target]));
    this.#startLengths = [...new Set(Array.from(this.#byStart.keys(), ({ length }) => length))];
  }

  get readings(): readonly CountedTarget[] {
    this.#turn();
    return this.#list;
  }

  /** A call has ended. One that its client aborted counts neither way. */
  ended(kind: CallKind, name: string, outcome: SlowOutcome, durationNs: number): void {
    if (this.#list.length === 0 || (kind !== 'rpc' && kind !== 'sba') || outcome === 'aborted') return;
    this.#turn();
    const tookNs = outcome === 'ok' ? durationNs : Number.POSITIVE_INFINITY;
    count(this.#byName.get(name), kind, tookNs);
    for (const length of this.#startLengths) {
      if (length <= name.length) count(this.#byStart.get(name.slice(0, length)), kind, tookNs);
    }
  }

  save(): readonly SavedFields[] {
    this.#turn();
    const of = this.#month;
    return this.#list.map(({ name, withinMs, met, missed, month }) => ({
      ...{ name, withinMs, met, missed },
      month: { of, ...month },
    }));
  }

  /** Those of targets that are configured. */
  load(saved: Iterable<SavedRecord>): void {
    this.#turn();
    const byName = new Map(this.#list.map((target) => [target.name, target]));
    for (const record of saved) {
      const target = byName.get(record.text('name') ?? '');
      if (target === undefined || record.number('withinMs', target.withinMs) !== target.withinMs) continue;
      target.met = record.count('met');
      target.missed = record.count('missed');
      const month = record.record('month');
      if (month.count('of') === this.#month) {
        target.month = { met: month.count('met'), missed: month.count('missed') };
      }
    }
  }

  /** Begins a minute, and a month, when the clock has. */
  #turn(): void {
    const epochMs = this.#clock.epochMs();
    const minute = Math.floor(epochMs / MS_PER_MINUTE);
    if (minute === this.#minute) return;
    const date = new Date(epochMs);
    // Since the year 0, in UTC.
    const month = 12 * date.getUTCFullYear() + date.getUTCMonth();
    for (const target of this.#list) {
      if (month !== this.#month) target.month = noCalls();
      const { hour } = target;
      for (let left = Math.min(minute - this.#minute, HOUR_MINUTES); left > 0; left -= 1) hour.push(noCalls());
      if (hour.length > HOUR_MINUTES) hour.splice(0, hour.length - HOUR_MINUTES);
    }
    this.#minute = minute;
    this.#month = month;
  }
}

function keyOf({ name, withinMs }: Target): string {
  return `${withinMs} ${name}`;
}

/** `tookNs`: infinite for a call that was not answered below 400. */
function count(target: Counted | undefined, kind: 'rpc' | 'sba', tookNs: number): void {
  if (target === undefined) return;
  const key = tookNs <= target.withinMs * NS_PER_MS ? 'met' : 'missed';
  target[key] += 1;
  target.month[key] += 1;
  const minute = target.hour.at(-1);
  if (minute !== undefined) minute[key] += 1;
  if (key === 'missed') target.kind = kind;
}

/** The returned function ends a second, and returns each target with the counts of the last `seconds`. */
export function createTargetMinute(
  targets: Pick<CallTargets, 'readings'>,
  seconds: number,
): () => readonly CountedTarget[] {
  const copy = () => new Map(targets.readings.map((target) => [target, { met: target.met, missed: target.missed }]));
  /** Oldest first. */
  const before = [copy()];
  return () => {
    const now = copy();
    const [oldest = now] = before;
    before.push(now);
    if (before.length > seconds) before.shift();
    return Array.from(now.keys(), (target) => {
      const { met = 0, missed = 0 } = oldest.get(target) ?? {};
      return { ...target, met: target.met - met, missed: target.missed - missed };
    });
  };
}
