/** Judges each application once a second, by what others have counted. The folder must not know HTTP. */
import { type Clock, MS_PER_S, NS_PER_S } from '../../base/clock.ts';
import { gauge, info, type MetricDescription } from '../../base/metric-description.ts';
import type { JvmState } from '../../jvm/jvm-monitor.ts';
import type { History } from '../history/history.ts';
import { endMark, type Mark, type UpstreamCondition } from '../history/marks.ts';
import { type CountedTarget, createTargetMinute } from '../record/call-targets.ts';
import type { RecordedApplication } from '../record/recorded-application.ts';
import { findHung, UNCONFIRMED } from '../record/running-calls.ts';
import type { UnclassifiedRequests } from '../record/unclassified-requests.ts';
import {
  type Evidence,
  hungText,
  type Judgement,
  type MinuteCounts,
  SUBJECTS,
  type Subject,
  type SuspectCall,
} from './evidence.ts';
import { RULES, VERDICT_CODES, type VerdictCode } from './rules.ts';

export interface VerdictSources {
  readonly applications: readonly RecordedApplication[];
  readonly history: Pick<History, 'of' | 'collectorShare' | 'mark'>;
  readonly lifecycle: { readonly state: string };
  readonly upstream: { readonly condition: UpstreamCondition };
  readonly jvm: { readonly state: JvmState };
  readonly unclassified: Pick<UnclassifiedRequests, 'belowOf' | 'misplaced' | 'readPaths'>;
  deadlock(): Evidence['deadlock'];
  ownCertificateFault(): string | undefined;
  clientTimeoutMs(): number;
}

interface Judged {
  readonly application: RecordedApplication;
  readonly verdict: ApplicationVerdict;
  /** Ends a second, and returns what has been counted in the last 60. */
  readonly takeMinute: () => MinuteCounts;
  readonly takeTargets: () => readonly CountedTarget[];
  /** Figures of the minute that the verdict is of. */
  minute: MinuteCounts;
  targets: readonly CountedTarget[];
  code: VerdictCode | undefined;
  /** The mark of a finding that still holds. */
  mark: Mark | undefined;
}

const JUDGE_MS = 1_000;
const MINUTE_S = 60;

export class Verdicts {
  readonly #sources: VerdictSources;
  readonly #clock: Clock;
  readonly #judged = new Map<string, Judged>();
  #timer: NodeJS.Timeout | undefined;

  /** Create it after saved state has been loaded. */
  constructor(sources: VerdictSources, clock: Clock) {
    this.#sources = sources;
    this.#clock = clock;
    for (const application of sources.applications) {
      const { name, totals } = application;
      const takeMinute = createMinute(() => ({
        ...totals.counts,
        unclassified: sources.unclassified.belowOf(name),
        misplaced: sources.unclassified.misplaced.count,
      }));
      const takeTargets = createTargetMinute(application.targets, MINUTE_S);
      const state = { minute: takeMinute(), targets: takeTargets(), code: undefined, mark: undefined };
      const verdict = new ApplicationVerdict(clock);
      this.#judged.set(name, { application, verdict, takeMinute, takeTargets, ...state });
    }
  }

  /** `shield` runs each turn and handles what it throws. */
  start(shield: (work: () => void) => void): void {
    this.#timer = setInterval(() => shield(() => this.judge()), JUDGE_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  judge(): void {
    for (const judged of this.#judged.values()) {
      judged.minute = judged.takeMinute();
      judged.targets = judged.takeTargets();
      const { code } = judged.verdict.judge(this.#evidenceOf(judged));
      if (code === judged.code) continue;
      // Findings become marks with their length; `quiet` and `fine` are none.
      if (judged.mark !== undefined) endMark(judged.mark, this.#clock.epochMs());
      judged.code = code;
      const where = this.#judged.size === 1 ? '' : ` of /${judged.application.name}`;
      const text = `The verdict${where}: ${code.replaceAll('-', ' ')}.`;
      judged.mark = WITHOUT_FINDING.has(code) ? undefined : this.#sources.history.mark('verdict', text);
    }
  }

  /** The current verdict; judges now if it has not been judged yet. Throws for an unknown application. */
  of(application: string): Verdict {
    const judged = this.#judgedOf(application);
    return judged.verdict.current ?? judged.verdict.judge(this.#evidenceOf(judged));
  }

  /** What was counted in the last minute, to the second. */
  minuteOf(application: string): MinuteCounts {
    return this.#judgedOf(application).minute;
  }

  /** As `minuteOf`, by target. */
  targetsOf(application: string): readonly CountedTarget[] {
    return this.#judgedOf(application).targets;
  }

  *all(): Generator<readonly [application: string, verdict: Verdict]> {
    for (const name of this.#judged.keys()) yield [name, this.of(name)];
  }

  #judgedOf(application: string): Judged {
    const judged = this.#judged.get(application);
    if (judged === undefined) throw new Error('no such application');
    return judged;
  }

  #evidenceOf({ application, minute, targets }: Judged): Evidence {
    const { history, lifecycle, upstream, jvm, ...sources } = this.#sources;
    const { name } = application;
    const ofApplication = history.of(name);
    return {
      application: name,
      lifecycleState: lifecycle.state,
      isLeaving: lifecycle.state === 'draining' || lifecycle.state === 'stopping',
      ownCertificateFault: sources.ownCertificateFault(),
      upstream: upstream.condition,
      server: jvm.state.kind === 'available' ? jvm.state.server : undefined,
      deadlock: sources.deadlock(),
      hung: findHung(application),
      ...{ minute, targets },
      worst: ofApplication?.worstCall,
      // Only outcomes that can give a name a metric: other names may be any text that a client sent.
      slowest: application.slowest
        .slowestSince(MINUTE_S)
        .find(({ outcome }) => outcome === 'ok' || outcome === 'error'),
      clientTimeoutS: sources.clientTimeoutMs() / MS_PER_S,
      collectorShare: history.collectorShare,
      p95: ofApplication?.p95 ?? { now: null, usual: null },
      get unclassifiedPath() {
        const context = `/${name}`;
        return sources.unclassified.readPaths().find(({ path }) => path.startsWith(context))?.path;
      },
      misplacedPath: sources.unclassified.misplaced.path,
    };
  }
}

function createMinute(read: () => MinuteCounts): () => MinuteCounts {
  /** Oldest first, one each second. */
  const before = [read()];
  return () => {
    const now = read();
    const [oldest = now] = before;
    before.push(now);
    if (before.length > MINUTE_S) before.shift();
    const keys = Object.keys(now) as (keyof MinuteCounts)[];
    return Object.fromEntries(keys.map((key) => [key, now[key] - oldest[key]])) as unknown as MinuteCounts;
  };
}

export const VERDICT_METRICS: readonly MetricDescription<Pick<Verdicts, 'all'>>[] = [
  gauge(
    'd2_sidecar_verdict',
    'Whether the verdict is about server, network, client, sidecar, nobody or unknown.',
    (verdicts) =>
      Array.from(verdicts.all(), ([application, { subject }]) => [
        application,
        Object.fromEntries(SUBJECTS.map((one) => [one, Number(one === subject)])),
      ]),
    'application',
    'subject',
  ),
  info(
    'd2_sidecar_verdict_info',
    'The code of the verdict.',
    (verdicts) => Array.from(verdicts.all(), ([application, { code }]) => [application, { [code]: 1 }]),
    'application',
    'code',
  ),
];

/** E.g. `{ subject: 'server', code: 'calls-fail', text: 'The server: 12 % of the calls failed ...', ... }`. */
export interface Verdict {
  readonly subject: Subject;
  readonly code: VerdictCode;
  /** The call to look at first, e.g. `E.Boiler.Start`; null if the verdict is not about a call. */
  readonly name: string | null;
  readonly kind: string | null;
  readonly text: string;
  /** When this code became the verdict, in milliseconds since 1970. */
  readonly sinceEpochMs: number;
  readonly rules: readonly (Pick<Judgement, 'applies' | 'text'> & { readonly code: VerdictCode })[];
  /** A hung call whose name no answer has confirmed, so that it may be any text that a client sent. */
  readonly unconfirmed: SuspectCall | undefined;
}

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
    const judged = VERDICT_CODES.map((code): Judgement & { readonly code: VerdictCode } => ({
      code,
      ...RULES[code](evidence),
    }));
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
    const isHigher = before !== undefined && VERDICT_CODES.indexOf(first.code) <= VERDICT_CODES.indexOf(before.code);
    const isOver = nowNs - this.#appliedNs >= KEPT_NS;
    if (before !== undefined && !isHigher && !isOver && !WITHOUT_FINDING.has(before.code)) {
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
}

/** For readers without the role `sessions`: hides the name that no answer has confirmed. */
export function withConfirmedNames(verdict: Verdict): Verdict {
  const { unconfirmed, name, text, rules } = verdict;
  if (unconfirmed === undefined) return verdict;
  const hidden = (sentence: string) =>
    sentence.replace(hungText(unconfirmed), () => hungText({ ...unconfirmed, name: UNCONFIRMED }));
  return {
    ...verdict,
    unconfirmed: undefined,
    name: name === unconfirmed.name ? UNCONFIRMED : name,
    text: hidden(text),
    rules: rules.map((rule) => ({ ...rule, text: hidden(rule.text) })),
  };
}
