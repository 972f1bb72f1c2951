import { someOf } from '../../support/effort.ts';
import type { DataPathCase } from './data-path-case.ts';
import type { Observation } from './observation.ts';
import type { CaseRunner, Split } from './run-case.ts';

/** Enough to use the waiting times. More are not quicker, and each takes longer: of 32 some met their deadline on a busy machine. */
const AT_ONCE = 8;
const PATIENCE_MS = 20_000;
/** Limit of a test that plays one case some 400 times, 3 s of processor time: for a machine that is ten times as busy as it should be. */
export const EVERY_SPLIT_LIMIT = { timeout: 60_000 };

/**
 * Plays `subject` once for each point at which the client's bytes, or the upstream's, can be divided into two segments;
 * for every seventh of them where not all cases are played. Resolves with the number of plays.
 */
export async function playEverySplit(
  subject: DataPathCase,
  runner: CaseRunner,
  port: number,
  unsplit: Observation,
  check: (seen: Observation) => void,
): Promise<number> {
  const all: Split[] = [
    ...offsetsIn(unsplit.raw!.upstream.join('')).map((request) => ({ request })),
    ...offsetsIn(unsplit.raw!.client).map((response) => ({ response })),
  ];
  // The others at once cost it time, on a busy machine more than the usual deadline.
  const patient = { ...subject, deadlineMs: PATIENCE_MS };
  const splits = someOf(all, 7);
  const next = splits.values();
  const play = async () => {
    for (const split of next) {
      try {
        check(await runner.run(patient, port, split));
      } catch (cause) {
        throw new Error(`divided at ${JSON.stringify(split)}: ${String(cause)}`, { cause });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, play));
  return splits.length;
}

/** Every offset within `text`, but its ends. */
function offsetsIn(text: string): number[] {
  return Array.from({ length: Math.max(text.length - 1, 0) }, (_, index) => index + 1);
}
