import { sanitizeLines, sanitizeText } from '../base/shown-text.ts';

/** Makes the text of HotSpot's `Thread.print` harmless, parses it, and summarises it. */

interface DumpedThread {
  readonly name: string;
  /** E.g. `TIMED_WAITING`; undefined for threads of the JVM itself, which have no frames. */
  state: string | undefined;
  /** E.g. `java.lang.Thread.sleep(java.base@17.0.21/Native Method)`, innermost first. */
  readonly frames: string[];
}

/** Follows the threads, in JDK 8 as `JNI global references`. */
const THREADS_END = /^JNI global ref/;
const DEADLOCK = /^Found (?:one|\d+) Java-level deadlocks?:$/;
const DEADLOCKS_END = /^Found \d+ deadlocks?\.$/;
/** Request threads: of Tomcat's connectors, and of WildFly's worker. */
const REQUEST_THREAD = /^(?:(?:http|https|ajp)-.+-exec-\d+|default task-\d+|catalina-exec-\d+)$/;
/** Frames of the JDK and of the server; all others belong to the application. */
const OF_SERVER =
  /^(?:java|javax|jdk|sun|com\.sun|jakarta|org\.apache\.(?:catalina|coyote|tomcat|jasper)|org\.(?:jboss|wildfly|xnio)|io\.undertow)\./;
/** Frames of a request thread that waits for work. */
const IDLE =
  /\.(?:TaskQueue|EnhancedQueueExecutor|LinkedBlockingQueue|ThreadPoolExecutor)(?:\$\w+)?\.\w*(?:take|poll|park|getTask)/;
const MAX_FRAMES_SHOWN = 10;

/** The deadlocks and a summary of the dump, as lines of text. */
export function summariseThreads(dump: string): string {
  const lines = dump.split(/\r?\n/);
  // The deadlocks at the end repeat the frames of threads.
  const threads = parseThreads(lines.slice(0, findDeadlocks(lines)));
  const java = threads.filter(({ state }) => state !== undefined);
  const requests = java.filter(({ name }) => REQUEST_THREAD.test(name));
  const busy = requests.filter(({ frames }) => frames.length > 0 && !frames.some((frame) => IDLE.test(frame)));
  // The innermost method of the application; without one, of the server.
  const methods = busy.map(({ frames }) => frames.find((frame) => !OF_SERVER.test(frame)) ?? frames[0] ?? '');
  const deadlocks = selectDeadlocks(lines);
  const states = counted(java.map(({ state = '' }) => state)).map(([state, count]) => `${state} ${count}`);
  return [
    ...(deadlocks.length === 0 ? ['Deadlocks: none'] : ['DEADLOCK', ...deadlocks]),
    '',
    `Threads: ${java.length} of Java (${states.join(', ')}), ${threads.length - java.length} of the JVM itself`,
    '',
    `Request threads: ${requests.length}, ${busy.length} of them busy`,
    ...counted(methods).map(([method, count]) => formatRow(count, `in ${method}`)),
    '',
    'Most common top frames:',
    ...counted(java.flatMap(({ frames: [top] }) => (top === undefined ? [] : [top])))
      .slice(0, MAX_FRAMES_SHOWN)
      .map(([frame, count]) => formatRow(count, frame)),
    '',
  ].join('\n');
}

/** Number of deadlocked threads. The last part of the dump names them, e.g. `"one":`. */
export function countDeadlocked(dump: string): number {
  const names = selectDeadlocks(dump.split(/\r?\n/)).flatMap((line) => /^"(.*)":$/.exec(line)?.[1] ?? []);
  return new Set(names).size;
}

function parseThreads(lines: readonly string[]): readonly DumpedThread[] {
  const threads: DumpedThread[] = [];
  for (const line of lines) {
    const name = /^"(.*)" .*(?:\bos_prio=|\bnid=)/.exec(line)?.[1];
    const thread = threads.at(-1);
    if (name !== undefined) threads.push({ name, state: undefined, frames: [] });
    else if (thread === undefined) continue;
    else if (line.startsWith('\tat ')) thread.frames.push(line.slice('\tat '.length));
    else thread.state ??= /^ {3}java\.lang\.Thread\.State: ([A-Z_]+)/.exec(line)?.[1];
  }
  return threads;
}

function selectDeadlocks(lines: readonly string[]): readonly string[] {
  const from = findDeadlocks(lines);
  if (from === lines.length) return [];
  const length = lines.slice(from).findIndex((line) => DEADLOCKS_END.test(line));
  return lines.slice(from, length < 0 ? undefined : from + length + 1);
}

/**
 * Index of the first line about deadlocks; without deadlocks, the number of lines. HotSpot reports them directly after the
 * last line about threads. Before that line, they can only be the name of a thread.
 */
function findDeadlocks(lines: readonly string[]): number {
  const threadsEnd = lines.findLastIndex((line) => THREADS_END.test(line));
  const next = lines.findIndex(
    (line, index) => index > threadsEnd && (threadsEnd < 0 ? DEADLOCK.test(line) : line !== ''),
  );
  return next >= 0 && DEADLOCK.test(lines[next] as string) ? next : lines.length;
}

/** Most frequent first. */
function counted(texts: readonly string[]): readonly (readonly [text: string, count: number])[] {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a);
}

function formatRow(count: number, text: string): string {
  return `${String(count).padStart(6)}  ${text}`;
}

const ADDRESS = /0x[0-9a-f]+/g;
const LIST_BEGINS = /^_java_thread_list=.*elements=\{$/;
/** The end of a name, and what follows it in the line. */
const NAME_ENDS = /^(.*)("(?: #\d+)?(?: \[\d+\])?(?: daemon)? (?:prio|os_prio)=.*\btid=(0x[0-9a-f]+) nid=.*)$/s;

/**
 * `dump` in which each name is within one line, and has no control characters. The other lines stay. HotSpot prints
 * names as they are, and applications put texts of clients into them: a name with line feeds can look like other
 * threads, or like a deadlock.
 *
 * From JDK 10 on, the dump begins with the addresses of all Java threads, and each thread's own line has its address
 * (`tid=`) after its name. A name cannot know these addresses, so they show where names end.
 */
export function cleanDump(dump: string): string {
  const lines = dump.split(/\r?\n/);
  // The addresses of the Java threads that are in the list at the beginning; none before JDK 10.
  const firstName = lines.findIndex((line) => line.startsWith('"'));
  const before = lines.slice(0, Math.max(0, firstName));
  const begin = before.findIndex((line) => LIST_BEGINS.test(line));
  const listed = begin < 0 ? [] : before.slice(begin + 1).flatMap((line) => line.match(ADDRESS) ?? []);
  const { cleaned, names } = joinNames(lines, new Set<string>(listed));
  return sanitizeLines(shortenNames(cleaned, names).join('\n'));
}

/** Joins the lines of each thread's name, with U+FFFD for its line feeds. `addresses` loses those that were found. */
function joinNames(lines: readonly string[], addresses: Set<string>) {
  const cleaned: string[] = [];
  /** The lines of each name with line feeds, by its first line. */
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
function shortenNames(lines: readonly string[], names: ReturnType<typeof joinNames>['names']): readonly string[] {
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
