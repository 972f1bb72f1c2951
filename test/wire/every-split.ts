import type { DataPathCase } from './data-path-case.ts';
import type { Observation } from './observation.ts';
import type { CaseRunner, Split } from './run-case.ts';

/** Enough to use the waiting times, few enough that no connection meets a deadline on a small machine. */
const AT_ONCE = 32;

/** Plays `subject` once for each point at which the client's bytes, or the upstream's, can be divided into two segments. */
export async function playEverySplit(
  subject: DataPathCase,
  runner: CaseRunner,
  port: number,
  unsplit: Observation,
  check: (seen: Observation) => void,
): Promise<void> {
  const splits: Split[] = [
    ...offsetsIn(unsplit.raw!.upstream.join('')).map((request) => ({ request })),
    ...offsetsIn(unsplit.raw!.client).map((response) => ({ response })),
  ];
  const next = splits.values();
  const play = async () => {
    for (const split of next) {
      try {
        check(await runner.run(subject, port, split));
      } catch (cause) {
        throw new Error(`divided at ${JSON.stringify(split)}: ${String(cause)}`, { cause });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, play));
}

/** Every offset within `text`, but its ends. */
function offsetsIn(text: string): number[] {
  return Array.from({ length: Math.max(text.length - 1, 0) }, (_, index) => index + 1);
}
