/** A sample by its name and labels as written, e.g. `d2_calls_total{outcome="ok"}` => 4. */
export function samplesOf(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      const number = line.slice(end + 1);
      return [line.slice(0, end), number === '+Inf' ? Number.POSITIVE_INFINITY : Number(number)];
    }),
  );
}

/** The samples of `/metrics` on the monitoring port `host:port`. */
export async function readSamples(monitor: string): Promise<Map<string, number>> {
  return samplesOf(await (await fetch(`http://${monitor}/metrics`)).text());
}

/** The sum of all samples of a name whose labels include these, e.g. `kind="rpc"`. */
export function sumOf(samples: ReadonlyMap<string, number>, name: string, ...labels: readonly string[]): number {
  const isOf = (key: string) => key.startsWith(`${name}{`) && labels.every((label) => key.includes(label));
  return [...samples].reduce((sum, [key, value]) => sum + (isOf(key) ? value : 0), 0);
}
