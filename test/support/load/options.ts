/** The values of options on a command line. Each throws for a value that it does not take, and returns `fallback` without one. */

export function toNumber(name: string, text: string | undefined, fallback: number, pattern = /^\d{1,9}$/): number {
  if (text === undefined) return fallback;
  if (!pattern.test(text)) throw new Error(`--${name}: got ${text}, expected a number like ${pattern.source}`);
  return Number(text);
}

export function toOneOf<T extends string>(name: string, known: readonly T[], text: string | undefined): T | undefined {
  const one = known.find((each) => each === text);
  if (text !== undefined && one === undefined)
    throw new Error(`--${name}: got ${text}, expected one of ${known.join(', ')}`);
  return one;
}
