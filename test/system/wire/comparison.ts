/** Plays cases through the sidecar: both ends see the same as without it. */
import { expect } from 'vitest';
import { someOf } from '../../support/effort.ts';
import { ScriptedUpstream, type Split } from './ends.ts';
import { type Exactness, type Observation, toComparable } from './observation.ts';
import { CaseRunner, type DataPathCase } from './run-case.ts';

/** Enough to use the waiting times. More are not quicker, and each takes longer: of 32 some met their deadline on a busy machine. */
const AT_ONCE = 8;
const PATIENCE_MS = 20_000;
/** Limit of a test that plays one case some 400 times, 3 s of processor time: for a machine that is ten times as busy as it should be. */
export const EVERY_SPLIT_LIMIT = { timeout: 60_000 };

export class Comparison {
  readonly upstream: ScriptedUpstream;
  readonly #direct = new Map<DataPathCase, Promise<Observation>>();
  readonly #runner: CaseRunner;

  private constructor(upstream: ScriptedUpstream) {
    this.upstream = upstream;
    this.#runner = new CaseRunner(upstream);
  }

  static async start(): Promise<Comparison> {
    return new Comparison(await ScriptedUpstream.listen());
  }

  close(): Promise<void> {
    return this.upstream.close();
  }

  /** What both ends see without a sidecar; played once for each case. */
  directly(subject: DataPathCase, deadlineMs?: number): Promise<Observation> {
    const known = this.#direct.get(subject) ?? this.#runner.run(subject, this.upstream.port, {}, deadlineMs);
    this.#direct.set(subject, known);
    return known;
  }

  /** Plays the case through a sidecar on `port`, before another upstream if `runner` has one, and checks what both ends saw. */
  async play(
    subject: DataPathCase,
    port: number,
    exactness: Exactness,
    runner = this.#runner,
    deadlineMs?: number,
  ): Promise<Observation> {
    const seen = await runner.run(subject, port, {}, deadlineMs);
    expectFacts(subject, seen);
    if (subject.sidecarOnly === undefined) {
      expectSame(subject, seen, await this.directly(subject, deadlineMs), exactness);
    }
    return seen;
  }

  /** Several at a time. */
  async playAll(
    subjects: readonly DataPathCase[],
    port: number,
    exactness: Exactness,
    runner = this.#runner,
  ): Promise<void> {
    await inParallel(subjects, async (subject) => {
      await this.play(subject, port, exactness, runner, PATIENCE_MS).catch((cause: unknown) => {
        throw new Error(`${subject.name}: ${String(cause)}`, { cause });
      });
    });
  }

  /**
   * Plays `subject` once for each point at which the client's bytes, or the upstream's, can be divided into two segments;
   * for every seventh of them where not all cases are played.
   */
  async playEverySplit(
    subject: DataPathCase,
    port: number,
    exactness: Exactness,
    runner = this.#runner,
  ): Promise<void> {
    const unsplit = await this.directly(subject);
    const { client = '', upstream = [] } = unsplit.raw ?? {};
    const splits: readonly Split[] = [
      ...offsetsIn(upstream.join('')).map((request) => ({ request })),
      ...offsetsIn(client).map((response) => ({ response })),
    ];
    await inParallel(someOf(splits, 7), async (split) => {
      try {
        // The others at once cost it time, on a busy machine more than the usual deadline.
        expectSame(subject, await runner.run(subject, port, split, PATIENCE_MS), unsplit, exactness);
      } catch (cause) {
        throw new Error(`divided at ${JSON.stringify(split)}: ${String(cause)}`, { cause });
      }
    });
  }
}

async function inParallel<Item>(items: readonly Item[], act: (item: Item) => Promise<void>) {
  const next = items.values();
  const work = async () => {
    for (const item of next) await act(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

function offsetsIn(text: string): number[] {
  return Array.from({ length: Math.max(text.length - 1, 0) }, (_, index) => index + 1);
}

/** As the case stands for itself: statuses and facts. */
export function expectFacts(subject: DataPathCase, seen: Observation): void {
  expect(seen.responses.map(({ startLine }) => Number(startLine.split(' ')[1]))).toEqual(subject.statuses ?? [200]);
  subject.verify?.(seen);
}

function expectSame(subject: DataPathCase, seen: Observation, straight: Observation, wanted: Exactness): void {
  const exactness = subject.isIrregular === true ? 'meaning' : wanted;
  expect(toComparable(seen, straight, exactness)).toEqual(toComparable(straight, straight, exactness));
}
