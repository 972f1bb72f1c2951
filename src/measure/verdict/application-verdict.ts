import { type Clock, NS_PER_S } from '../../base/clock.ts';
import { RULES } from './rules.ts';
import { type Evidence, VERDICT_CODES, type Verdict, type VerdictCode } from './verdict.ts';

/** A rule that no longer applies keeps the verdict for this long, so that the verdict does not flicker. */
const KEPT_NS = 10 * NS_PER_S;

/** Left at once: they say that nothing was found. */
const WITHOUT_FINDING: ReadonlySet<VerdictCode> = new Set(['quiet', 'fine']);

/** The verdict on one application. A rule higher in the order takes over at once, a lower one after `KEPT_NS`. */
export class ApplicationVerdict {
  readonly #clock: Clock;
  /** Undefined before the first `judge`. */
  current: Verdict | undefined;
  #appliedNs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  judge(evidence: Evidence): Verdict {
    const judged = VERDICT_CODES.map((code) => ({ code, ...RULES[code](evidence) }));
    const first = judged.find(({ applies }) => applies) as (typeof judged)[number];
    const rules = judged.map(({ code, applies, text }) => ({
      code,
      // `fine` applies only without any other rule, so that a reader of the rules sees one finding or none.
      applies: code === 'fine' ? first.code === 'fine' : applies,
      text,
    }));
    const nowNs = this.#clock.nowNs();
    const before = this.current;
    const { hung } = evidence;
    const unconfirmed = hung?.p99 === null ? hung : undefined;
    if (before !== undefined && first.code !== before.code && this.#isKept(before.code, first.code, nowNs)) {
      this.current = { ...before, rules, unconfirmed: unconfirmed ?? before.unconfirmed };
      return this.current;
    }
    this.#appliedNs = nowNs;
    this.current = {
      subject: first.subject,
      code: first.code,
      name: first.suspect?.name ?? null,
      kind: first.suspect?.kind ?? null,
      text: first.says,
      sinceEpochMs: before?.code === first.code ? before.sinceEpochMs : this.#clock.epochMs(),
      rules,
      unconfirmed,
    };
    return this.current;
  }

  #isKept(before: VerdictCode, now: VerdictCode, nowNs: number): boolean {
    if (WITHOUT_FINDING.has(before)) return false;
    const isHigher = VERDICT_CODES.indexOf(now) < VERDICT_CODES.indexOf(before);
    return !isHigher && nowNs - this.#appliedNs < KEPT_NS;
  }
}
