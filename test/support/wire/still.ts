import { setTimeout as delay } from 'node:timers/promises';

/** Until `progress` has not moved for `ms`: that a sender does nothing cannot be told from any event. Resolves with where it stands. */
export async function untilStill(progress: () => number, ms = 50): Promise<number> {
  for (let before = -1; before !== progress(); ) {
    before = progress();
    await delay(ms);
  }
  return progress();
}
