import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { JvmSourceError } from '../../../src/jvm/jvm-source.ts';
import { type HungCall, ThreadDiagnosis } from '../../../src/jvm/thread-diagnosis.ts';
import { ManualClock } from '../../support/clock.ts';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';

const DEADLOCKED = `"one" #1 prio=5 os_prio=0\n   java.lang.Thread.State: BLOCKED\n
Found one Java-level deadlock:
=============================
"one":
  waiting to lock monitor
"other":
  waiting to lock monitor

Found 1 deadlock.
`;
const MINUTE_MS = 60_000;

const defer = deferTo(afterEach);
let folder: string;
let clock: ManualClock;
let call: HungCall | undefined;
let asked: number;
let dump: () => Promise<string>;
let told: string[];
let logged: object[];
let diagnosis: ThreadDiagnosis;
let serverId: string | undefined;

beforeEach(() => {
  folder = path.join(temporaryFolder(defer), 'threads');
  clock = new ManualClock();
  asked = 0;
  serverId = '7 100';
  dump = () => Promise.resolve('Full thread dump\n');
  told = [];
  logged = [];
  const log = (details: unknown) => void logged.push(details as object);
  diagnosis = new ThreadDiagnosis({
    config: { whenCallRunsMs: MINUTE_MS, folder, keep: 2, atMostEveryMs: 10 * MINUTE_MS },
    dumpThreads: () => {
      asked += 1;
      return dump();
    },
    serverId: () => serverId,
    oldestCall: () => call,
    onDump: (fileName) => told.push(fileName),
    clock,
    logger: { debug: log, info: log, warn: log, error: log },
  });
  hang(100);
});

const files = () => readdirSync(folder).sort();
const textOf = (name = '') => readFileSync(path.join(folder, name), 'utf8');
const hang = (seconds: number) => {
  call = { kind: 'rpc', name: 'P.Report', seconds };
};
const lookAgain = async (times: number, everyMs: number) => {
  for (let again = 0; again < times; again += 1) {
    await diagnosis.check();
    clock.advanceMs(everyMs);
  }
};

it('threads are dumped when a call has been running for a long time enough, into a file of its own', async () => {
  hang(59.9);
  await diagnosis.check();
  expect(asked).toBe(0);
  hang(60);
  await diagnosis.check();
  const [name = ''] = files();
  const file = path.join(folder, name);
  expect([told, statSync(file).mode & 0o777]).toEqual([[name], 0o600]);
  expect(textOf(name)).toMatch(/: rpc P\.Report has run for 60 s\n\nDeadlocks: none\n/);
  expect(diagnosis.last).toMatchObject({ fileName: name, deadlockedThreads: 0 });
  expect(logged).toEqual([{ file, seconds: 60, deadlocked: 0 }]);
});

it('threads are dumped not more often than configured, and the last ones are kept, as are other files of the folder', async () => {
  await lookAgain(1, MINUTE_MS);
  const others = ['notes', 'threads-1.txt', 'threads.txt'];
  for (const name of others) writeFileSync(path.join(folder, name), '');
  await lookAgain(39, MINUTE_MS);
  expect([asked, diagnosis.written]).toEqual([4, 4]);
  expect(files()).toEqual([...others, ...told.slice(-2)].sort());
});

it('threads are dumped and a deadlock in them is seen, until the server is restarted', async () => {
  dump = () => Promise.resolve(DEADLOCKED);
  await diagnosis.check();
  expect(diagnosis.last?.deadlockedThreads).toBe(2);
  serverId = undefined;
  expect(diagnosis.last?.deadlockedThreads).toBe(2);
  serverId = '9 200';
  expect(diagnosis.last).toBeUndefined();
});

it('threads are dumped one at a time, and a large one is cut', async () => {
  let finish: (text: string) => void = () => undefined;
  const answer = new Promise<string>((resolve) => {
    finish = resolve;
  });
  dump = () => answer;
  const first = diagnosis.check();
  clock.advanceMs(60 * MINUTE_MS);
  await diagnosis.check();
  expect(asked).toBe(1);
  finish('x'.repeat(5_000_000));
  await first;
  const text = textOf(files()[0]);
  expect(text.length).toBeLessThan(4 * 1_024 * 1_024 + 100);
  expect(text).toMatch(/\(the rest is left out\)\n$/);
});

it('threads are dumped or the log says once why not', async () => {
  dump = () => Promise.reject(new JvmSourceError('D2S_ERR_JVM_ACCESS', 'The JVM refuses.'));
  await lookAgain(3, 10 * MINUTE_MS);
  expect(diagnosis.failed).toBe(3);
  expect(logged).toEqual([{ reason: 'The JVM refuses.', folder }]);
});
