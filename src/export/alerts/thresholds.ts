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

interface Reading {
  readonly calls: number;
  readonly failed: number;
  /** In seconds; 0 without a duration. */
  readonly p95: number;
  /** The kind and name of most calls. */
  readonly kind: 'rpc' | 'sba';
}

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
    for (const minute of minutes) for (const rule of this.#rules) this.#judgeOne(minute, rule);
  }

  #judgeOne(minute: EndedMinute, rule: Rule): void {
    const key = keyOf(minute.application, rule.name);
    const before = this.#passed.get(key);
    const reading = readCalls(minute, rule.name);
    if (reading.calls < rule.minCalls) {
      if (before !== undefined) before.quiet += 1;
      if ((before?.quiet ?? 0) >= QUIET_MINUTES) this.#passed.delete(key);
      return;
    }
    const text = describe(rule, reading, before === undefined ? 1 : END_AT);
    if (text === undefined) this.#passed.delete(key);
    else {
      const { kind } = reading;
      const { application } = minute;
      const finding = { application, subject: 'server', code: 'threshold', kind, name: rule.name, text } as const;
      this.#passed.set(key, { finding, quiet: 0 });
    }
  }
}

function keyOf(application: string, name: string): string {
  return `${application} ${name}`;
}

/** Undefined if no limit, times `factor`, is passed. */
function describe({ name, p95Ms, errors }: Rule, { calls, failed, p95 }: Reading, factor: number): string | undefined {
  const limitS = p95Ms / 1_000;
  const share = failed / calls;
  const parts = [];
  if (limitS > 0 && p95 > limitS * factor)
    parts.push(`its p95 was ${formatDuration(p95)}, at most ${formatDuration(limitS)} is set`);
  if (errors !== undefined && share > errors * factor)
    parts.push(
      `${formatPercent(share)} of its calls failed (${formatCount(failed)} of ${formatCount(calls)}), at most ${formatPercent(errors)} is set`,
    );
  return parts.length === 0
    ? undefined
    : `The server: ${name} passed a limit of alerts.rules in the last minute: ${parts.join('; ')}.`;
}

function readCalls({ kinds }: EndedMinute, wanted: string): Reading {
  const start = wanted.endsWith('*') ? wanted.slice(0, -1) : undefined;
  const durations: SparseBuckets[] = [];
  const byKind = { rpc: 0, sba: 0 };
  let [failed, maxNs, timed] = [0, 0, 0];
  for (const kind of ['rpc', 'sba'] as const) {
    const { names, ends, cells } = kinds[kind];
    names.forEach((name, at) => {
      if (start === undefined ? name !== wanted : name === '' || !name.startsWith(start)) return;
      const row = decode(cells.subarray(ends[at - 1] ?? 0, ends[at]));
      byKind[kind] += row.ok + row.clientErrors + row.errors;
      failed += row.errors;
      maxNs = Math.max(maxNs, row.maxNs);
      const buckets = SparseBuckets.of(row.buckets);
      buckets.forEachBucket((_, count) => {
        timed += count;
      });
      durations.push(buckets);
    });
  }
  const [p95 = 0] = timed === 0 ? [] : percentilesOf(mergedBuckets(durations), timed, maxNs, PERMILLE);
  return { calls: byKind.rpc + byKind.sba, failed, p95, kind: byKind.sba > byKind.rpc ? 'sba' : 'rpc' };
}
