/** Parses the text of HotSpot's `Thread.print`, and summarises it. `cleanDump` (clean-dump.ts) makes it harmless before. */

interface DumpedThread {
  readonly name: string;
  /** E.g. `TIMED_WAITING`; undefined for threads of the JVM itself, which have no frames. */
  readonly state: string | undefined;
  /** E.g. `java.lang.Thread.sleep(java.base@17.0.21/Native Method)`, innermost first. */
  readonly frames: readonly string[];
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
  const deadlocks = selectDeadlocks(lines);
  const states = counted(java.map(({ state = '' }) => state)).map(([state, count]) => `${state} ${count}`);
  return [
    ...(deadlocks.length === 0 ? ['Deadlocks: none'] : ['DEADLOCK', ...deadlocks]),
    '',
    `Threads: ${java.length} of Java (${states.join(', ')}), ${threads.length - java.length} of the JVM itself`,
    '',
    `Request threads: ${requests.length}, ${busy.length} of them busy`,
    ...counted(busy.map(selectMethod)).map(([method, count]) => formatRow(count, `in ${method}`)),
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
  const threads: { name: string; state: string | undefined; frames: string[] }[] = [];
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

/** The innermost method of the application; without one, of the server. */
function selectMethod({ frames }: DumpedThread): string {
  const own = frames.find((frame) => !OF_SERVER.test(frame));
  return own ?? frames[0] ?? '';
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
