import { setTimeout as delay } from 'node:timers/promises';

/** Until `progress` has not moved for `ms`: no event says that a sender does nothing. Resolves with the last progress. */
export async function untilStill(progress: () => number, ms = 50): Promise<number> {
  for (let before = -1; before !== progress(); ) {
    before = progress();
    await delay(ms);
  }
  return progress();
}
