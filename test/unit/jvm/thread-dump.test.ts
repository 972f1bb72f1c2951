import { expect, it } from 'vitest';
import { cleanDump, countDeadlocked, summariseThreads } from '../../../src/jvm/thread-dump.ts';
import { Random } from '../../support/fuzz/random.ts';

const head = (number: number, state: string) =>
  `"http-nio-8080-exec-${number}" #${number} daemon prio=5 os_prio=0 cpu=1.00ms elapsed=9.00s tid=0x1 nid=0x1 ${state}`;
const waiting = (number: number) => `${head(number, 'waiting on condition  [0x1]')}
   java.lang.Thread.State: WAITING (parking)
\tat jdk.internal.misc.Unsafe.park(java.base@17.0.21/Native Method)
\t- parking to wait for  <0x1> (a java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject)
\tat java.util.concurrent.LinkedBlockingQueue.take(java.base@17.0.21/LinkedBlockingQueue.java:435)
\tat org.apache.tomcat.util.threads.TaskQueue.take(TaskQueue.java:99)
`;
const busy = (number: number, method: string) => `${head(number, 'runnable  [0x1]')}
   java.lang.Thread.State: RUNNABLE
\tat java.io.FileInputStream.read(java.base@17.0.21/Native Method)
\tat ${method}
\tat org.apache.catalina.core.ApplicationFilterChain.doFilter(ApplicationFilterChain.java:166)
`;
const JVM_THREAD = '"GC Thread#0" os_prio=0 cpu=2.00ms elapsed=9.00s tid=0x1 nid=0x1 runnable\n';
const REPORT = 'plant.Report.month(Report.java:12)';

const dumpOf = (...threads: string[]) =>
  `2026-11-24 13:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.21+10 mixed mode):\n\n${threads.join('\n')}\n`;

it('the summary of a dump counts threads by state, and says where request threads are', () => {
  const trend = busy(4, 'plant.Trend.read(Trend.java:7)');
  const dump = dumpOf(waiting(1), busy(2, REPORT), busy(3, REPORT), trend, JVM_THREAD);
  expect(summariseThreads(dump)).toBe(`Deadlocks: none

Threads: 4 of Java (RUNNABLE 3, WAITING 1), 1 of the JVM itself

Request threads: 4, 3 of them busy
     2  in plant.Report.month(Report.java:12)
     1  in plant.Trend.read(Trend.java:7)

Most common top frames:
     3  java.io.FileInputStream.read(java.base@17.0.21/Native Method)
     1  jdk.internal.misc.Unsafe.park(java.base@17.0.21/Native Method)
`);
});

it.each(['', 'Full thread dump', '"x" os_prio='])('%j is an empty dump', (text) => {
  expect(summariseThreads(text)).toMatch(/^Deadlocks: none\n/);
});

/** Parts of names that look like parts of a dump, and characters that must not reach a terminal. */
const PIECES = [
  ...['calm', '\n', '\n\n', '"', '":', '\x1b[31m', '\x9b2J', '\u202e', '\r', '=============================\n'],
  '"forged":\n  waiting to lock monitor 0x1 (object 0x2, a java.lang.Object),\n  which is held by "forged"',
  '"forged" #99 daemon prio=5 os_prio=0 tid=0x00007f0000000bad nid=0x1 runnable',
  ...['\n   java.lang.Thread.State: BLOCKED\n', '\tat plant.Forged.run(Forged.java:1)\n'],
  ...['JNI global refs: 6, weak refs: 0', 'JNI global references: 6', 'elements={\n0x00007f0000000bad\n}\n'],
  ...['Found one Java-level deadlock:', 'Found 1 deadlock.'],
];

const tidOf = (index: number) => `0x00007f0ccc${String(100_000 + index)}`;

/** What HotSpot prints for threads with these names, in the order of its source. The first two may be in a deadlock. */
function toDump(names: readonly string[], isDeadlocked: boolean): string {
  const list = `Threads class SMR info:\n_java_thread_list=0x00007f0c340023f0, length=${names.length}, elements={\n${names.map((_name, index) => tidOf(index)).join(', ')}\n}\n\n`;
  const threads = names.map(
    (name, index) =>
      `"${name}" #${index + 1} daemon prio=5 os_prio=0 tid=${tidOf(index)} nid=0x${index} waiting  [0x1]\n   java.lang.Thread.State: WAITING\n\tat plant.Work.run(Work.java:1)\n`,
  );
  const held = (one: string, other: string) =>
    `"${one}":\n  waiting to lock monitor 0x1 (object 0x2, a java.lang.Object),\n  which is held by "${other}"\n\n`;
  const [one = '', other = ''] = names;
  const deadlock = `\nFound one Java-level deadlock:\n=============================\n${held(one, other)}${held(other, one)}Java stack information for the threads listed above:\n===================================================\n"${one}":\n\tat plant.Lock.take(Lock.java:3)\n"${other}":\n\tat plant.Lock.take(Lock.java:3)\n\nFound 1 deadlock.\n\n`;
  return [
    '2026-11-26 16:31:51\nFull thread dump OpenJDK 64-Bit Server VM (17.0.21 mixed mode):\n\n',
    list,
    ...threads.map((thread) => `${thread}\n`),
    '"VM Thread" os_prio=0 cpu=1.02ms elapsed=4.63s tid=0x00007f0ccc0f4bf0 nid=0x51dd runnable  \n\n',
    'JNI global refs: 4, weak refs: 0\n\n',
    isDeadlocked ? deadlock : '',
  ].join('');
}

function randomNames(random: Random): readonly string[] {
  return Array.from({ length: 2 + random.below(3) }, (_unused, index) => {
    const pieces = Array.from({ length: random.below(7) }, () => random.pick(PIECES));
    return `${pieces.join('')}${index}`;
  });
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be there
const UNSAFE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/;

it('whatever threads are called, the dump has their number, and a deadlock only if there is one', () => {
  const random = new Random(38);
  for (let round = 0; round < 3_000; round += 1) {
    const names = randomNames(random);
    const isDeadlocked = round % 2 === 0;
    const clean = cleanDump(toDump(names, isDeadlocked));
    const summary = summariseThreads(clean);
    const shown = JSON.stringify(names);
    expect(clean, shown).not.toMatch(UNSAFE);
    expect(summary.startsWith(isDeadlocked ? 'DEADLOCK\n' : 'Deadlocks: none\n'), shown).toBe(true);
    expect(countDeadlocked(clean), shown).toBe(isDeadlocked ? 2 : 0);
    expect(summary, shown).toContain(
      `\nThreads: ${names.length} of Java (WAITING ${names.length}), 1 of the JVM itself`,
    );
    expect(cleanDump(clean), shown).toBe(clean);
  }
});

it('a dump with harmless names stays as it is, and the lines of others are joined wherever it has them', () => {
  const dump = toDump(['main', 'http-nio-8080-exec-1', 'Čerpadlo 1'], true);
  expect(cleanDump(dump)).toBe(dump);
  expect(summariseThreads(`${dump}\nsomething else\n`)).toMatch(
    /^DEADLOCK\nFound one Java-level deadlock:\n=+\n"main":.*Found 1 deadlock\.\n\nThreads: 3 of Java(?!.*else)/s,
  );
  const clean = cleanDump(toDump(['one\nFound 1 deadlock.\n', 'two\x1b[2J'], true));
  expect(clean).toContain('"one\ufffdFound 1 deadlock.\ufffd" #1 daemon');
  expect(clean).toContain('which is held by "one\ufffdFound 1 deadlock.\ufffd"\n');
  expect(clean).toContain('\n"two\ufffd[2J":\n');
});
