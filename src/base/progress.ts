export const PROGRESS_MS = 2_000;

/** Until `work` has ended, prints every two seconds that it goes on, e.g. `d2-sidecar: waiting for the sidecar, 2 s`. */
export async function showProgress<T>(print: (text: string) => void, what: string, work: Promise<T>): Promise<T> {
  const beganMs = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - beganMs) / 1_000);
    print(`d2-sidecar: ${what}, ${seconds} s\n`);
  }, PROGRESS_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
