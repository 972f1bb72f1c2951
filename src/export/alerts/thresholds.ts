/** Judges `alerts.rules` by each minute that has ended. */
import { formatCount, formatDuration, formatPercent } from '../../base/figures.ts';
import type { Config } from '../../config/config.ts';
import type { EndedMinute } from '../../measure/history/application-history.ts';
import { decode, percentilesOf } from '../../measure/history/minute-record.ts';
import { mergedBuckets, SparseBuckets } from '../../metrics/sparse-buckets.ts';
import type { Finding } from './message.ts';

type Rule = Config['alerts']['rules'][number];

/** A limit that was passed is passed until a minute stays below this part of it. */
const END_AT = 0.9;
/** After so many minutes with too few calls, it is over. */
const QUIET_MINUTES = 5;
const PERMILLE = [950];

/** What the names of one rule did in one minute. */
interface Reading {
  calls: number;
  failed: number;
  /** Of `calls`. */
  rpc: number;
  sba: number;
  readonly durations: SparseBuckets[];
  /** Number of durations. */
  timed: number;
  maxNs: number;
}

const noCalls = (): Reading => ({ calls: 0, failed: 0, rpc: 0, sba: 0, durations: [], timed: 0, maxNs: 0 });

export class Thresholds {
  readonly #rules: readonly Rule[];
  readonly #passed = new Map<string, { finding: Finding; quiet: number }>();

  constructor(rules: readonly Rule[], restored: readonly Finding[] = []) {
    this.#rules = rules;
    for (const finding of restored) {
      const isKnown = rules.some(({ name }) => name === finding.name);
      if (isKnown) this.#passed.set(keyOf(finding.application, finding.name ?? ''), { finding, quiet: 0 });
    }
  }

  get findings(): readonly Finding[] {
    return Array.from(this.#passed.values(), ({ finding }) => finding);
  }

  judge(minutes: readonly EndedMinute[]): void {
    for (const minute of minutes) {
      const readings = readCalls(minute, this.#rules);
      for (const rule of this.#rules) this.#judgeOne(minute.application, rule, readings.get(rule) ?? noCalls());
    }
  }

  #judgeOne(application: string, rule: Rule, reading: Reading): void {
    const key = keyOf(application, rule.name);
    const before = this.#passed.get(key);
    if (reading.calls < rule.minCalls) {
      if (before !== undefined) before.quiet += 1;
      if ((before?.quiet ?? 0) >= QUIET_MINUTES) this.#passed.delete(key);
      return;
    }
    const text = describe(rule, reading, before === undefined ? 1 : END_AT);
    if (text === undefined) this.#passed.delete(key);
    else {
      const kind = reading.sba > reading.rpc ? 'sba' : 'rpc';
      const finding = { application, subject: 'server', code: 'threshold', kind, name: rule.name, text } as const;
      this.#passed.set(key, { finding, quiet: 0 });
    }
  }
}

function keyOf(application: string, name: string): string {
  return `${application} ${name}`;
}

/** Undefined if no limit, times `factor`, is passed. */
function describe({ name, p95Ms, errors }: Rule, reading: Reading, factor: number): string | undefined {
  const { calls, failed } = reading;
  const limitS = p95Ms / 1_000;
  const share = failed / calls;
  const parts = [];
  const p95 = limitS > 0 ? readP95(reading) : 0;
  if (p95 > limitS * factor) parts.push(`its p95 was ${formatDuration(p95)}, at most ${formatDuration(limitS)} is set`);
  if (errors !== undefined && share > errors * factor)
    parts.push(
      `${formatPercent(share)} of its calls failed (${formatCount(failed)} of ${formatCount(calls)}), at most ${formatPercent(errors)} is set`,
    );
  return parts.length === 0
    ? undefined
    : `The server: ${name} passed a limit of alerts.rules in the last minute: ${parts.join('; ')}.`;
}

/** By rule. Each name is read once, however many rules match it. */
function readCalls({ kinds }: EndedMinute, rules: readonly Rule[]): ReadonlyMap<Rule, Reading> {
  const readings = new Map(rules.map((rule) => [rule, noCalls()]));
  for (const kind of ['rpc', 'sba'] as const) {
    const { names, ends, cells } = kinds[kind];
    names.forEach((name, at) => {
      const matching = [...readings].flatMap(([rule, reading]) => (isMatch(rule.name, name) ? [reading] : []));
      if (matching.length === 0) return;
      const row = decode(cells.subarray(ends[at - 1] ?? 0, ends[at]));
      const calls = row.ok + row.clientErrors + row.errors;
      const buckets = SparseBuckets.of(row.buckets);
      let timed = 0;
      buckets.forEachBucket((_, count) => {
        timed += count;
      });
      for (const reading of matching) {
        reading.calls += calls;
        reading[kind] += calls;
        reading.failed += row.errors;
        reading.maxNs = Math.max(reading.maxNs, row.maxNs);
        reading.timed += timed;
        reading.durations.push(buckets);
      }
    });
  }
  return readings;
}

function isMatch(wanted: string, name: string): boolean {
  return wanted.endsWith('*') ? name !== '' && name.startsWith(wanted.slice(0, -1)) : name === wanted;
}

/** In seconds; 0 without a duration. */
function readP95({ durations, timed, maxNs }: Reading): number {
  const [p95 = 0] = timed === 0 ? [] : percentilesOf(mergedBuckets(durations), timed, maxNs, PERMILLE);
  return p95;
}
