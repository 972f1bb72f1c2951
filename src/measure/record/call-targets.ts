import { NS_PER_MS } from '../../base/clock.ts';
import type { Config } from '../../config/config.ts';
import type { SavedFields, SavedRecord } from '../../state/saved-record.ts';
import type { CallKind } from '../classify/classifier.ts';
import type { SlowOutcome } from './call-totals.ts';

/** A target of `calls.targets`, and the calls that have met and missed it. */
export interface TargetReading {
  /** As in the configuration: a name, or with `*` at its end the beginning of names. */
  readonly name: string;
  readonly withinMs: number;
  /** Share of the calls that should meet it, above 0, at most 1. */
  readonly share: number;
  readonly met: number;
  readonly missed: number;
  /** Of the last call that has missed it. */
  readonly kind: 'rpc' | 'sba';
}

type Counted = { -readonly [Key in keyof TargetReading]: TargetReading[Key] };

/** Counts RPCs and SBA RPCs by their targets. A call counts for each target that its name matches. */
export class CallTargets {
  #list: readonly Counted[] = [];
  #byName: ReadonlyMap<string, Counted> = new Map();
  /** Targets of names that begin so, and the lengths of these beginnings: few, whatever the number of targets. */
  #byStart: ReadonlyMap<string, Counted> = new Map();
  #startLengths: readonly number[] = [];

  /** Targets that stay, by their name, keep their counts and their object; one that comes back begins at 0. */
  use(targets: Config['calls']['targets']): void {
    const known = new Map(this.#list.map((target) => [target.name, target]));
    this.#list = targets.map((target) =>
      Object.assign(known.get(target.name) ?? { met: 0, missed: 0, kind: 'rpc' as const }, target),
    );
    const isStart = ({ name }: TargetReading) => name.endsWith('*');
    const named = this.#list.filter((target) => !isStart(target));
    this.#byName = new Map(named.map((target) => [target.name, target]));
    this.#byStart = new Map(this.#list.filter(isStart).map((target) => [target.name.slice(0, -1), target]));
    this.#startLengths = [...new Set(Array.from(this.#byStart.keys(), ({ length }) => length))];
  }

  get readings(): readonly TargetReading[] {
    return this.#list;
  }

  /** A call has ended. One that its client aborted counts neither way. */
  ended(kind: CallKind, name: string, outcome: SlowOutcome, durationNs: number): void {
    if (this.#list.length === 0 || (kind !== 'rpc' && kind !== 'sba') || outcome === 'aborted') return;
    const tookNs = outcome === 'ok' ? durationNs : Number.POSITIVE_INFINITY;
    count(this.#byName.get(name), kind, tookNs);
    for (const length of this.#startLengths) {
      if (length <= name.length) count(this.#byStart.get(name.slice(0, length)), kind, tookNs);
    }
  }

  save(): readonly SavedFields[] {
    return this.#list.map(({ name, met, missed }) => ({ name, met, missed }));
  }

  /** Those of targets that are configured. */
  load(saved: Iterable<SavedRecord>): void {
    const byName = new Map(this.#list.map((target) => [target.name, target]));
    for (const record of saved) {
      const target = byName.get(record.text('name') ?? '');
      if (target === undefined) continue;
      target.met = record.count('met');
      target.missed = record.count('missed');
    }
  }
}

/** `tookNs`: infinite for a call that was not answered below 400. */
function count(target: Counted | undefined, kind: 'rpc' | 'sba', tookNs: number): void {
  if (target === undefined) return;
  if (tookNs <= target.withinMs * NS_PER_MS) {
    target.met += 1;
    return;
  }
  target.missed += 1;
  target.kind = kind;
}

/** The returned function ends a second, and returns each target with the counts of the last `seconds`. */
export function createTargetMinute(
  targets: Pick<CallTargets, 'readings'>,
  seconds: number,
): () => readonly TargetReading[] {
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
