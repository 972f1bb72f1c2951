/**
 * How much of a long test is played. `npm test` plays a part, for an answer in minutes. `npm run test:all` and CI set
 * D2S_ALL_CASES=1: every case, and the long form of what is repeated or random.
 */
export const playsAll = process.env.D2S_ALL_CASES === '1';

/** All of `cases`, or every `step`th. */
export function someOf<Case>(cases: readonly Case[], step: number): readonly Case[] {
  return playsAll ? cases : cases.filter((_, index) => index % step === 0);
}
