/** Content may be so much larger than what was sent, as encoders make it of JSON that repeats itself. */
const MAX_RATIO = 100;
/** Below it, any ratio is right: a short message may repeat much of the ones before it. */
const ANY_RATIO_BYTES = 64 * 1024;

/** The most that `sentBytes` may hold: a bomb of a few bytes is given up early. `maxBytes`: for anything. */
export function toMaxInflatedBytes(sentBytes: number, maxBytes: number): number {
  return Math.min(maxBytes, ANY_RATIO_BYTES + MAX_RATIO * sentBytes);
}
