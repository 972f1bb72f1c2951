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
