import { expect, it } from 'vitest';
import { summariseThreads } from '../../../src/jvm/thread-dump.ts';

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

it('the summary of a dump has deadlocks first, and counts their threads once', () => {
  const deadlock = `
Found one Java-level deadlock:
=============================
"one":
  waiting to lock monitor 0x1 (object 0x2, a java.lang.Object),
  which is held by "other"

Java stack information for the threads listed above:
===================================================
"one":
\tat plant.Lock.take(Lock.java:3)

Found 1 deadlock.
`;
  const summary = summariseThreads(`${dumpOf(busy(1, REPORT)) + deadlock}\nsomething else\n`);
  expect(summary).toMatch(/^DEADLOCK\nFound one Java-level deadlock:\n=+\n"one":/);
  expect(summary).toContain('Found 1 deadlock.\n\nThreads: 1 of Java');
  expect(summary).not.toContain('something else');
});

it.each(['', '\n', 'Full thread dump', '"x" os_prio=', `${'"'.repeat(10_000)}\n`])('%j is an empty dump', (text) => {
  expect(summariseThreads(text)).toMatch(/^Deadlocks: none\n/);
});
