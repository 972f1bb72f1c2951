/** `npm test` plays a part of a long test. `npm run test:all` and CI set D2S_ALL_CASES=1: every case, and more of random ones. */
export const playsAll = process.env.D2S_ALL_CASES === '1';

/** All of `cases`, or every `step`th. */
export function someOf<Case>(cases: readonly Case[], step: number): readonly Case[] {
  return playsAll ? cases : cases.filter((_, index) => index % step === 0);
}
