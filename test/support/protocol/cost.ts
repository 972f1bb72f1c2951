/** The least time of three runs in milliseconds, to be compared with that of other work; below 0.1 ms is noise. */
export function costOf(work: () => unknown): number {
  const runs = Array.from({ length: 3 }, () => {
    const began = performance.now();
    work();
    return performance.now() - began;
  });
  return Math.max(0.1, Math.min(...runs));
}
