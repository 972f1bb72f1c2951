import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { JvmSourceError } from '../../../src/jvm/jvm-source.ts';
import { type HungCall, ThreadDiagnosis } from '../../../src/jvm/thread-diagnosis.ts';
import { ManualClock } from '../../support/clock.ts';

const DEADLOCKED = `"one" #1 prio=5 os_prio=0\n   java.lang.Thread.State: BLOCKED\n
Found one Java-level deadlock:
=============================
"one":
  waiting to lock monitor
"other":
  waiting to lock monitor

Found 1 deadlock.
`;

describe('threads are dumped', () => {
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
    folder = mkdtempSync(path.join(tmpdir(), 'd2s-diagnosis-'));
    clock = new ManualClock();
    call = undefined;
    asked = 0;
    serverId = '7 100';
    dump = () => Promise.resolve('Full thread dump\n');
    told = [];
    logged = [];
    const log = (details: unknown) => void logged.push(details as object);
    diagnosis = new ThreadDiagnosis({
      config: { whenCallRunsMs: 60_000, folder: path.join(folder, 'threads'), keep: 2, atMostEveryMs: 600_000 },
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
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const files = () => readdirSync(path.join(folder, 'threads')).sort();
  const hang = (seconds: number) => {
    call = { kind: 'rpc', name: 'P.Report', seconds };
  };

  it('when a call has run for long enough, into a file of its own', async () => {
    hang(59.9);
    await diagnosis.look();
    expect(asked).toBe(0);
    hang(60);
    await diagnosis.look();
    const [name = ''] = files();
    expect(told).toEqual([name]);
    const file = path.join(folder, 'threads', name);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toMatch(/: rpc P\.Report has run for 60 s\n\nDeadlocks: none\n/);
    expect(diagnosis.last).toMatchObject({ fileName: name, deadlockedThreads: 0 });
    expect(logged).toEqual([{ file, seconds: 60, deadlocked: 0 }]);
  });

  it('not more often than configured, and the last ones are kept', async () => {
    hang(100);
    for (let minutes = 0; minutes < 40; minutes += 1) {
      await diagnosis.look();
      clock.advanceMs(60_000);
    }
    expect([asked, diagnosis.written]).toEqual([4, 4]);
    expect(files()).toEqual(told.slice(-2));
  });

  it('leaving other files of the folder alone', async () => {
    hang(100);
    await diagnosis.look();
    for (const name of ['threads.txt', 'notes', 'threads-1.txt']) writeFileSync(path.join(folder, 'threads', name), '');
    for (let again = 0; again < 3; again += 1) {
      clock.advanceMs(600_000);
      await diagnosis.look();
    }
    expect(files()).toEqual(expect.arrayContaining(['notes', 'threads-1.txt', 'threads.txt']));
    expect(files()).toHaveLength(5);
  });

  it('and a deadlock in them is seen', async () => {
    dump = () => Promise.resolve(DEADLOCKED);
    hang(100);
    await diagnosis.look();
    expect(diagnosis.last?.deadlockedThreads).toBe(2);
    serverId = undefined;
    expect(diagnosis.last?.deadlockedThreads).toBe(2);
    // Another process: the server has been restarted, and the deadlock is gone.
    serverId = '9 200';
    expect(diagnosis.last).toBeUndefined();
  });

  it('one at a time, and a large one is cut', async () => {
    let finish: (text: string) => void = () => undefined;
    dump = () =>
      new Promise((resolve) => {
        finish = resolve;
      });
    hang(100);
    const first = diagnosis.look();
    clock.advanceMs(3_600_000);
    await diagnosis.look();
    expect(asked).toBe(1);
    finish('x'.repeat(5_000_000));
    await first;
    const [name = ''] = files();
    expect(statSync(path.join(folder, 'threads', name)).size).toBeLessThan(4 * 1_024 * 1_024 + 100);
    expect(readFileSync(path.join(folder, 'threads', name), 'utf8')).toMatch(/\(the rest is left out\)\n$/);
  });

  it('or the log says once why not', async () => {
    dump = () => Promise.reject(new JvmSourceError('D2S_ERR_JVM_ACCESS', 'The JVM refuses.'));
    hang(100);
    for (let again = 0; again < 3; again += 1) {
      await diagnosis.look();
      clock.advanceMs(600_000);
    }
    expect(diagnosis.failed).toBe(3);
    expect(logged).toEqual([{ reason: 'The JVM refuses.', folder: path.join(folder, 'threads') }]);
  });
});
