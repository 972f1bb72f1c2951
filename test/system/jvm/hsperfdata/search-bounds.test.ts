/** The bounds of the search for a JVM: what lies within is found, what lies beyond is passed over and counted. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { AttachOverlay } from '../../../../src/jvm/attach/attach-overlay.ts';
import { PairedSource } from '../../../../src/jvm/create-source.ts';
import { HsperfdataSource } from '../../../../src/jvm/hsperfdata/hsperfdata-source.ts';
import { SEARCH_LIMITS, type SearchBound } from '../../../../src/jvm/hsperfdata/search-bounds.ts';
import { JvmMonitor } from '../../../../src/jvm/jvm-monitor.ts';
import type { JvmSource } from '../../../../src/jvm/jvm-source.ts';
import { LocalSource } from '../../../../src/jvm/local-source.ts';
import { sampleBytes } from '../../../support/jvm/hsperfdata/samples.ts';
import { failureOf } from '../../../support/jvm/http/sources.ts';
import { ACCESSIBLE_AT, FakeMachine, fileOf, LOOPBACK_8080, TOMCAT } from '../fake-machine.ts';
import { OWN_UID } from '../fake-process.ts';

/** By the files alone, as no port says anything about this machine. */
const ELSEWHERE = { upstreamHost: 'app.example.com', upstreamPort: 8080 };
const HERE = { upstreamHost: '127.0.0.1', upstreamPort: 8080 };
const JVM = 812;
/** More than every bound but that of names. */
const FLOOD = 5_000;
/** ext4 allows 65,000 links to a file. */
const LINKS_TO_A_FILE = 50_000;
const NEVER = new AbortController().signal;

let machine: FakeMachine;
beforeEach(() => {
  machine = new FakeMachine();
});
afterEach(() => machine.remove());

/** Of a JDK that has no ticks: nothing shows that it does not live. */
function addTomcat(user = 'tomcat', tmp = machine.tmpPath): string {
  return machine.addFile(user, JVM, fileOf(TOMCAT, 'jdk25-g1'), tmp);
}

function sourceOf(where: object = ELSEWHERE): HsperfdataSource {
  return new HsperfdataSource({ procPath: machine.procPath, tmpPath: machine.tmpPath, ...where });
}

/** Whether the JVM was found, and which bounds were hit. */
async function search(where?: object): Promise<{ pid: number | undefined; hit: Partial<Record<SearchBound, number>> }> {
  const source = sourceOf(where);
  await source.read(NEVER).catch(() => undefined);
  const hit = Object.fromEntries([...source.boundsHit].filter(([, times]) => times > 0));
  return { pid: source.found?.nspid, hit };
}

/** Names of files that are refused at once: links that lead nowhere. */
function addLinks(tmp: string, user: string, count: number): void {
  const directory = join(tmp, `hsperfdata_${user}`);
  mkdirSync(directory, { recursive: true, mode: 0o755 });
  for (let number = 1; number <= count; number += 1) symlinkSync('nowhere', join(directory, String(100_000 + number)));
}

function addFolders(count: number): void {
  for (let index = 1; index <= count; index += 1) mkdirSync(join(machine.tmpPath, `hsperfdata_m${index}`));
}

/** Names in a folder. Links to one file are made much faster than files. */
function addNames(folder: string, count: number, prefix = ''): void {
  for (let index = 0; index < count; index += 1) {
    const file = join(machine.directory, `linked-${Math.floor(index / LINKS_TO_A_FILE)}`);
    if (index % LINKS_TO_A_FILE === 0) writeFileSync(file, '');
    linkSync(file, join(folder, `${prefix}${100_000 + index}`));
  }
}

/** Names as of folders of counters files; 256 of them are folders. */
function flood(): void {
  addFolders(SEARCH_LIMITS.directories);
  addNames(machine.tmpPath, FLOOD, 'hsperfdata_');
}

/** The path of the passwd file of a process, in a folder that is there. */
function passwdOf(pid: number | 'self'): string {
  const folder = join(machine.procPath, String(pid), 'root/etc');
  mkdirSync(folder, { recursive: true });
  return join(folder, 'passwd');
}

function addPasswd(pid: number | 'self', ...lines: string[]): void {
  writeFileSync(passwdOf(pid), ['root:x:0:0::/:/bin/sh', ...lines, ''].join('\n'));
}

function socketLine(address: string, inode: number): string {
  const numbers = '00000000:00000000 00:00000000 00000000 0 0';
  return `   0: ${address} 00000000:0000 0A ${numbers} ${inode} 1 0000000000000000 100 0 0 10 0\n`;
}

const reasonOf = async (where: object) => (await failureOf(sourceOf(where).read(NEVER))).message;

/** As many files as a bound allows take long to create on a busy disk. */
const LONG = { timeout: 120_000 };

describe('a search for the JVM', LONG, () => {
  /** The JVM is found within the bound, and `found` once there is `more`. */
  async function expectBound(hit: object, more: () => unknown, { pid = JVM, found = 0, where = ELSEWHERE } = {}) {
    expect(await search(where)).toEqual({ pid, hit: {} });
    more();
    expect(await search(where)).toEqual({ pid: found === 0 ? undefined : found, hit });
  }

  it('stops at its bound of processes', async () => {
    // In the order of the letters of their names, this is the last.
    const pid = 99_999;
    // No application server by its file: only its process tells that it is the one.
    machine.addFile('tomcat', pid, sampleBytes('jdk25-g1'));
    machine.addServer({ pid });
    // Processes that have just ended: nothing is in them.
    addNames(machine.procPath, SEARCH_LIMITS.processes - 1);
    const more = () => writeFileSync(join(machine.procPath, '200000'), '');
    await expectBound({ processes: 1 }, more, { pid, where: HERE });
  });

  it('stops at its bound of names in one /tmp', async () => {
    addTomcat(userInfo().username);
    addNames(machine.tmpPath, SEARCH_LIMITS.entries - 1);
    // The user's own directory is looked up by its name.
    const more = () => writeFileSync(join(machine.tmpPath, 'more'), '');
    await expectBound({ entries: 1 }, more, { found: JVM });
  });

  it('stops at its bound of files in one /tmp', async () => {
    // It is searched after the others.
    addTomcat('zzz');
    addLinks(machine.tmpPath, 'm', SEARCH_LIMITS.files - 1);
    // A directory after another without room for it.
    await expectBound({ files: 1 }, () => addLinks(machine.tmpPath, 'n', 1));
  });

  it('stops at its bound of files in all /tmp together', async () => {
    for (let index = 1; index < SEARCH_LIMITS.filesInAll / SEARCH_LIMITS.files; index += 1) {
      machine.addProcess({ pid: index, mountNamespace: `mnt:[10${index}]` });
      addLinks(machine.tmpOf(index), 'm', SEARCH_LIMITS.files);
    }
    addLinks(machine.tmpPath, 'm', SEARCH_LIMITS.files - 1);
    machine.addProcess({ pid: 9, nspid: JVM, mountNamespace: 'mnt:[109]' });
    addTomcat('tomcat', machine.tmpOf(9));
    await expectBound({ filesInAll: 1 }, () => addLinks(machine.tmpPath, 'n', 1));
  });

  it('stops at its bound of bytes of a file', async () => {
    const addPadded = (bytes: number) => {
      const padded = Buffer.concat([fileOf(TOMCAT, 'jdk25-g1'), Buffer.alloc(bytes)]).subarray(0, bytes);
      machine.addFile('tomcat', JVM, padded);
    };
    addPadded(SEARCH_LIMITS.fileBytes);
    // When it is found, and when it is read.
    await expectBound({ fileBytes: 2 }, () => addPadded(SEARCH_LIMITS.fileBytes + 1), { found: JVM });
  });

  it('stops at its bound of directories in one /tmp', async () => {
    addTomcat();
    addFolders(SEARCH_LIMITS.directories - 1);
    expect(await search()).toEqual({ pid: JVM, hit: {} });
    mkdirSync(join(machine.tmpPath, 'hsperfdata_more'));
    expect((await search()).hit).toEqual({ directories: 1 });
  });

  it('stops at its bound of a process’s memory map, and does not conclude from a file missing there', async () => {
    addTomcat();
    machine.addServer({ pid: JVM, mapped: '/usr/lib/other' });
    const maps = join(machine.procPath, String(JVM), 'maps');
    writeFileSync(maps, Buffer.alloc(SEARCH_LIMITS.mapsBytes, 'x'));
    expect(await search(HERE)).toEqual({ pid: undefined, hit: {} });
    appendFileSync(maps, `\n/tmp/hsperfdata_tomcat/${JVM}\n`);
    const { pid, hit } = await search(HERE);
    expect([pid, hit.mapsBytes]).toEqual([JVM, 1]);
  });

  it('stops at its bound of the list of locks', async () => {
    addTomcat();
    machine.addProcess({ pid: JVM });
    const line = '1: POSIX  ADVISORY  WRITE 1 fe:00:99 0 EOF\n';
    const fill = (bytes: number) => line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes - 1);
    const locks = join(machine.procPath, 'locks');
    writeFileSync(locks, `${fill(SEARCH_LIMITS.locksBytes)}\n`);
    expect((await search()).hit).toEqual({});
    appendFileSync(locks, line);
    expect((await search()).hit.locksBytes).toBeGreaterThanOrEqual(1);
  });

  it('stops at its bound of the table of sockets', async () => {
    addTomcat();
    machine.addProcess({ pid: JVM, sockets: [4711] });
    const other = socketLine('0100007F:0050', 1);
    const table = (count: number) => {
      const text = `  sl\n${other.repeat(count)}${socketLine(LOOPBACK_8080, 4711)}`;
      writeFileSync(join(machine.procPath, 'net/tcp'), text);
    };
    const fitting = Math.floor(SEARCH_LIMITS.socketTableBytes / other.length) - 2;
    table(fitting);
    expect(await search(HERE)).toEqual({ pid: JVM, hit: {} });
    table(fitting + 100);
    const { pid, hit } = await search(HERE);
    expect([pid, (hit.socketTableBytes ?? 0) >= 1]).toEqual([undefined, true]);
  });
});

describe('thousands of folders of another user in /tmp', () => {
  const OWN_LINE = `tomcat:x:${OWN_UID}:${OWN_UID}::/:/bin/false`;
  const isHit = { hit: { directories: 1 } };

  beforeEach(flood);

  it('do not hide the JVM of the user that the sidecar runs as, nor that of jvm.user', async () => {
    addTomcat(userInfo().username);
    expect(await search()).toEqual({ pid: JVM, ...isHit });
    addTomcat('ann');
    expect(await search({ ...ELSEWHERE, user: 'ann' })).toEqual({ pid: JVM, ...isHit });
  });

  it.each(['self', JVM] as const)('do not hide the JVM of a user in the passwd file of process %s', async (pid) => {
    addTomcat();
    machine.addServer({ pid: JVM });
    addPasswd(pid, 'other:x:4711:4711::/:', OWN_LINE);
    expect(await search(HERE)).toEqual({ pid: JVM, ...isHit });
  });

  it('do not hide the JVM of the user that listens on the upstream’s port without visible processes', async () => {
    machine.setOwnUid(OWN_UID + 1);
    addTomcat();
    machine.listen(LOOPBACK_8080, 4711);
    addPasswd('self', OWN_LINE);
    expect(await search(HERE)).toEqual({ pid: JVM, ...isHit });
  });

  it('are named as the reason if no JVM is found, also beside a process without a file', async () => {
    const bound = '256 directories hsperfdata_* in one /tmp (bound "directories")';
    const expected = `The search for the JVM ended at ${bound}, and a JVM beyond that is not found. Remove what`;
    expect(await reasonOf(ELSEWHERE)).toContain(expected);
    machine.addServer({ pid: JVM });
    expect(await reasonOf(HERE)).toContain(expected);
    expect(await reasonOf(HERE)).toContain('set jvm.user');
    expect(await reasonOf({ ...ELSEWHERE, pid: 4712 })).toContain(expected);
  });
});

it('files of another user do not delay the search, even if they look like files of starting JVMs', async () => {
  machine.setOwnUid(OWN_UID + 1);
  const starting = fileOf(TOMCAT, 'jdk25-g1');
  starting[ACCESSIBLE_AT] = 0;
  for (let index = 1; index <= 100; index += 1) machine.addFile(`m${index}`, JVM, starting);
  addTomcat();
  const source = sourceOf();
  await source.read(AbortSignal.timeout(5_000));
  expect(source.found?.nspid).toBe(JVM);
});

it('files of another user do not delay the search, even a FIFO in place of a container’s passwd file', async () => {
  addTomcat();
  machine.addServer({ pid: JVM });
  execFileSync('mkfifo', [passwdOf(JVM)]);
  expect(await search(HERE)).toEqual({ pid: JVM, hit: {} });
});

const logger = pino({ level: 'silent' });
const nothing: JvmSource = {
  name: 'nothing',
  read: () => Promise.reject(new Error('nothing')),
  close: () => undefined,
};

it('the monitor of a source within others tells how often each bound was hit, from the start', async () => {
  const local = new LocalSource(sourceOf(), new AttachOverlay({ mayOpen: false }), logger);
  const times = { intervalMs: 1e6, timeoutMs: 5_000, staleAfterMs: 1e6 };
  const source = new PairedSource(nothing, local, { timeoutMs: 5_000, logger });
  const monitor = new JvmMonitor({ upstreamPort: 8080, source, clock: systemClock, logger, ...times });
  const names = Object.keys(SEARCH_LIMITS);
  expect([...monitor.boundsHit]).toEqual(names.map((name) => [name, 0]));
  addFolders(SEARCH_LIMITS.directories + 1);
  await monitor.refresh();
  await monitor.refresh();
  expect([...monitor.boundsHit]).toEqual(names.map((name) => [name, name === 'directories' ? 2 : 0]));
  monitor.stop();
});
