/** Content may be this many times larger than what was sent: encoders reach that with repetitive JSON. */
const MAX_RATIO = 100;
/** Up to this size any ratio is allowed: a short message may repeat much of earlier ones. */
const ANY_RATIO_BYTES = 64 * 1024;

/** Maximum content of a message of `sentBytes`, at most `maxBytes`: a bomb of a few bytes is given up early. */
export function limitInflatedBytes(sentBytes: number, maxBytes: number): number {
  return Math.min(maxBytes, ANY_RATIO_BYTES + MAX_RATIO * sentBytes);
}
