export const HOUR_S = 3_600;
export const DAY_S = 24 * HOUR_S;

/** The lengths of steps on disk, and for how long each is shown; hours for as long as `history.keep` says. */
export const STEPS = [
  { step: 60, shownS: 2 * DAY_S },
  { step: 600, shownS: 14 * DAY_S },
  { step: HOUR_S, shownS: Number.POSITIVE_INFINITY },
] as const;

/** The length of the shortest steps that go back that far, in seconds. */
export function chooseStep(ageS: number): number {
  return STEPS.find(({ shownS }) => ageS <= shownS)?.step ?? HOUR_S;
}

export function beginOf(time: number, step: number): number {
  return Math.floor(time / step) * step;
}
