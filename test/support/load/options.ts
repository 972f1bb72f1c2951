/** Command lines that their usage text defines: `--seed N  ...` takes a value, `--short  ...` none. */
import { parseArgs } from 'node:util';

/** The values by name, '' for an option without one. Throws for options that are not in the usage. */
export function readOptions(usage: string, args: readonly string[]): Readonly<Record<string, string | undefined>> {
  const known = [...usage.matchAll(/^ {2}--(\w+)( \S+)? {2}/gm)].map(([, name = '', value]) => [name, value] as const);
  const options = known.map(([name, value]) => [name, { type: value === undefined ? 'boolean' : 'string' }]);
  const { values } = parseArgs({ args: [...args], options: Object.fromEntries(options) });
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value === true ? '' : String(value)]));
}

export function toNumber(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`--${name}: got ${text}, expected a whole number above 0`);
  return Number(text);
}

/** Splits at commas. Throws for a name that is not known. */
export function toNames(name: string, text: string | undefined, known: readonly string[]): string[] | undefined {
  const names = text?.split(',').map((each) => each.trim());
  const unknown = names?.find((each) => !known.includes(each));
  if (unknown !== undefined) throw new Error(`--${name}: got ${unknown}, expected some of ${known.join(', ')}`);
  return names;
}
