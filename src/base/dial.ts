/** Most names have one address of each family. */
const USUAL_ADDRESSES = 2;

/**
 * `autoSelectFamilyAttemptTimeout` for a connection that may take `limitMs` in all: an equal part for each address of
 * the name. By default Node gives up each address but the last after 250 ms.
 */
export function attemptTimeoutMs(limitMs: number, addresses = USUAL_ADDRESSES): number {
  return Math.max(1, Math.floor(limitMs / addresses));
}
