/**
 * Makes the names of threads in HotSpot's `Thread.print` harmless. HotSpot prints names as they are, and applications
 * put texts of clients into them: a name with line feeds can look like other threads, or like a deadlock.
 *
 * From JDK 10 on, the dump begins with the addresses of all Java threads, and each thread's own line has its address
 * (`tid=`) after its name. A name cannot know these addresses, so they show where names end.
 */
import { sanitizeLines, sanitizeText } from '../base/shown-text.ts';

const ADDRESS = /0x[0-9a-f]+/g;
const LIST_BEGINS = /^_java_thread_list=.*elements=\{$/;
/** The end of a name, and what follows it in the line. */
const NAME_ENDS = /^(.*)("(?: #\d+)?(?: \[\d+\])?(?: daemon)? (?:prio|os_prio)=.*\btid=(0x[0-9a-f]+) nid=.*)$/s;

/** `dump` in which each name is within one line, and has no control characters. The other lines stay. */
export function cleanDump(dump: string): string {
  const lines = dump.split(/\r?\n/);
  const { cleaned, names } = joinNames(lines, readAddresses(lines));
  return sanitizeLines(shortenNames(cleaned, names).join('\n'));
}

/** The addresses of the Java threads that are in the list at the beginning; empty before JDK 10. */
function readAddresses(lines: readonly string[]): Set<string> {
  const firstName = lines.findIndex((line) => line.startsWith('"'));
  const before = lines.slice(0, Math.max(0, firstName));
  const begin = before.findIndex((line) => LIST_BEGINS.test(line));
  return new Set(begin < 0 ? [] : before.slice(begin + 1).flatMap((line) => line.match(ADDRESS) ?? []));
}

interface Joined {
  readonly cleaned: readonly string[];
  /** The lines of each name with line feeds, by its first line. */
  readonly names: ReadonlyMap<string, readonly (readonly string[])[]>;
}

/** Joins the lines of each thread's name, with U+FFFD for its line feeds. `addresses` loses those that were found. */
function joinNames(lines: readonly string[], addresses: Set<string>): Joined {
  const cleaned: string[] = [];
  const names = new Map<string, (readonly string[])[]>();
  /** Where in `cleaned` the name of the next thread may begin. */
  let begin: number | undefined;
  for (const line of lines) {
    const [, last = '', rest = '', address = ''] = NAME_ENDS.exec(line) ?? [];
    if (begin === undefined && line.startsWith('"')) begin = cleaned.length;
    cleaned.push(line);
    if (begin === undefined || !addresses.delete(address)) continue;
    if (begin < cleaned.length - 1) {
      const [first = '', ...others] = cleaned.splice(begin).slice(0, -1);
      const name = [first.slice(1), ...others, last];
      names.set(name[0] as string, [...(names.get(name[0] as string) ?? []), name]);
      cleaned.push(`"${sanitizeText(name.join('\n'))}${rest}`);
    }
    begin = undefined;
  }
  return { cleaned, names };
}

/** Joins the lines of these names where the report of deadlocks repeats them: `"name":` and `held by "name"`. */
function shortenNames(lines: readonly string[], names: Joined['names']): readonly string[] {
  if (names.size === 0) return lines;
  const shortened: string[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] as string;
    const [, before = '', first] = /^(|.* held by )"(.*)$/s.exec(line) ?? [];
    const name = first === undefined ? undefined : names.get(first)?.find((one) => isAt(lines, at, one));
    if (name === undefined) {
      shortened.push(line);
      continue;
    }
    at += name.length - 1;
    shortened.push(`${before}"${sanitizeText(name.join('\n'))}${(lines[at] as string).slice(name.at(-1)?.length)}`);
  }
  return shortened;
}

/** Whether the name, whose first line is `lines[at]`, is followed by its other lines and a quotation mark. */
function isAt(lines: readonly string[], at: number, name: readonly string[]): boolean {
  const last = name.length - 1;
  const end = lines[at + last];
  return (
    name.slice(1, -1).every((line, index) => lines[at + 1 + index] === line) &&
    (end === `${name[last]}"` || end === `${name[last]}":`)
  );
}
