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
  /** Targets of names that begin with `start`. */
  #byStart: readonly { readonly start: string; readonly target: Counted }[] = [];

  /** Targets that stay, by their name, keep their counts. */
  use(targets: Config['calls']['targets']): void {
    const known = new Map(this.#list.map((target) => [target.name, target]));
    this.#list = targets.map(({ name, withinMs, share }) => {
      const { met = 0, missed = 0, kind = 'rpc' } = known.get(name) ?? {};
      return { name, withinMs, share, met, missed, kind };
    });
    this.#byName = new Map(this.#list.map((target) => [target.name, target]));
    this.#byStart = this.#list
      .filter(({ name }) => name.endsWith('*'))
      .map((target) => ({ start: target.name.slice(0, -1), target }));
  }

  get readings(): readonly TargetReading[] {
    return this.#list;
  }

  /** A call has ended. One that its client aborted counts neither way. */
  ended(kind: CallKind, name: string, outcome: SlowOutcome, durationNs: number): void {
    if (this.#list.length === 0 || (kind !== 'rpc' && kind !== 'sba') || outcome === 'aborted') return;
    const exact = this.#byName.get(name);
    if (exact !== undefined) count(exact, kind, outcome, durationNs);
    for (const { start, target } of this.#byStart) {
      if (target !== exact && name.startsWith(start)) count(target, kind, outcome, durationNs);
    }
  }

  save(): readonly SavedFields[] {
    return this.#list.map(({ name, met, missed }) => ({ name, met, missed }));
  }

  /** Those of targets that are configured. */
  load(saved: Iterable<SavedRecord>): void {
    for (const record of saved) {
      const target = this.#byName.get(record.text('name') ?? '');
      if (target === undefined) continue;
      target.met = record.count('met');
      target.missed = record.count('missed');
    }
  }
}

function count(target: Counted, kind: 'rpc' | 'sba', outcome: SlowOutcome, durationNs: number): void {
  if (outcome === 'ok' && durationNs <= target.withinMs * NS_PER_MS) {
    target.met += 1;
    return;
  }
  target.missed += 1;
  target.kind = kind;
}
