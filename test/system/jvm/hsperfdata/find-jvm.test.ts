import fs from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FindJvmOptions, findJvm } from '../../../../src/jvm/hsperfdata/find-jvm.ts';
import { SearchBounds } from '../../../../src/jvm/hsperfdata/search-bounds.ts';
import { failureOf } from '../../../support/jvm/http/sources.ts';
import { Markers } from '../../secrets/markers.ts';
import { ACCESSIBLE_AT, FakeMachine, fileOf, LOOPBACK_8080, TOMCAT, withTexts } from '../fake-machine.ts';
import { OWN_UID } from '../fake-process.ts';

let machine: FakeMachine;
beforeEach(() => {
  machine = new FakeMachine();
});
afterEach(() => machine.remove());

/** Then the port says nothing about this machine, and files are all there is. */
const ELSEWHERE = { upstreamHost: 'app.example.com' };
const ANY_IPV6_8080 = '00000000000000000000000000000000:1F90';
/** A JDK whose counters do not tell that the JVM has stopped. */
const QUIET = 'jdk25-g1';
const NOT_FOUND = 'D2S_ERR_JVM_NOT_FOUND';

function find(options: Partial<FindJvmOptions> = {}, signal = new AbortController().signal) {
  const { procPath, tmpPath } = machine;
  const nowNs = () => performance.now() * 1e6;
  const upstream = { upstreamHost: '127.0.0.1', upstreamPort: 8080 };
  return findJvm({ procPath, tmpPath, ...upstream, nowNs, bounds: new SearchBounds(), ...options }, signal);
}

async function pidFound(options?: Partial<FindJvmOptions>): Promise<number | undefined> {
  return (await find(options)).candidate.process?.pid;
}

/** Code and message of a search that finds nothing. */
async function failure(options?: Partial<FindJvmOptions>): Promise<string> {
  const { code, message } = await failureOf(find(options));
  return `${code} ${message}`;
}

function addTomcat(pid = 812, command = TOMCAT, user = 'tomcat'): string {
  machine.addProcess({ pid });
  return machine.addFile(user, pid, fileOf(command));
}

describe('by the upstream’s port', () => {
  beforeEach(() => {
    machine.addFile('tomcat', 812, fileOf('com.example.Main'));
    addTomcat(813, 'com.example.Other');
  });

  it.each([
    ['127.0.0.1', LOOPBACK_8080],
    ['any IPv6 address, as Tomcat listens', ANY_IPV6_8080],
    ['127.0.0.1 as a mapped IPv6 address', '0000000000000000FFFF00000100007F:1F90'],
  ])('takes the process that listens on %s, whatever its name', async (_, address) => {
    machine.addServer({ pid: 812 }, address);
    const { candidate, description, listenerInodes } = await find();
    expect(candidate.process?.pid).toBe(812);
    expect(description).toBe('pid 812 (user tomcat, com.example.Main)');
    expect(candidate.path).toEqual({ tmp: machine.tmpPath, user: 'tomcat', nspid: 812 });
    expect([...listenerInodes]).toEqual(['4711']);
  });

  it('ignores processes that listen on another address or port', async () => {
    machine.addServer({ pid: 812 }, '0200007F:1F90');
    expect(await failure()).toContain(NOT_FOUND);
    machine.listen('0100007F:1F91', 4711);
    expect(await failure()).toContain('nothing listens on the upstream’s port 8080');
  });

  it('finds the file by the pid in the JVM’s own namespace, in its own /tmp', async () => {
    machine.addServer({ pid: 900, nspid: 1, mountNamespace: 'mnt:[2]' });
    machine.addFile('app', 1, fileOf('com.example.Main'), machine.tmpOf(900));
    const { candidate } = await find();
    expect(candidate.process?.pid).toBe(900);
    expect(candidate.path).toEqual({ tmp: machine.tmpOf(900), user: 'app', nspid: 1 });
  });

  it('reports why a JVM may have no file, and searches for no other', async () => {
    machine.addServer({ pid: 911 });
    addTomcat();
    const message = await failure();
    const parts = [NOT_FOUND, 'pid 911', 'UsePerfData', 'PerfDisableSharedMem', 'passwd', 'read-only', 'jvm.source'];
    expect(parts.filter((part) => !message.includes(part))).toEqual([]);
  });

  it('asks to choose between two JVMs that share the socket', async () => {
    machine.addServer({ pid: 812 });
    machine.addServer({ pid: 813 });
    expect(await failure()).toMatch(/^D2S_ERR_JVM_AMBIGUOUS .*pid 812 .*pid 813 .*jvm\.pid/);
  });
});

it('a search by files takes the only application server, and none of the tools and other JVMs', async () => {
  addTomcat(812);
  addTomcat(813, 'org.apache.catalina.startup.Bootstrap stop');
  addTomcat(814, 'jdk.jcmd/sun.tools.jcmd.JCmd 812 VM.flags');
  addTomcat(815, 'com.example.Main');
  expect(await pidFound(ELSEWHERE)).toBe(812);
});

it('a search by files lists two application servers and the key to set instead of guessing', async () => {
  addTomcat(812);
  addTomcat(913, '/opt/wildfly/jboss-modules.jar -mp x org.jboss.as.standalone', 'wildfly');
  expect(await failure(ELSEWHERE)).toBe(
    'D2S_ERR_JVM_AMBIGUOUS 2 JVMs are candidates: pid 812 (user tomcat, org.apache.catalina.startup.Bootstrap), ' +
      'pid 913 (user wildfly, jboss-modules.jar). Set jvm.pid, or jvm.user, to the right one.',
  );
  expect(await pidFound({ ...ELSEWHERE, user: 'wildfly' })).toBe(913);
  expect(await pidFound({ ...ELSEWHERE, pid: 812 })).toBe(812);
});

it('a search by files finds a JVM in the /tmp of a container whose processes are visible', async () => {
  machine.addProcess({ pid: 899, nspid: 1, name: 'sh', mountNamespace: 'mnt:[2]' });
  machine.addProcess({ pid: 900, nspid: 7, mountNamespace: 'mnt:[2]' });
  for (const pid of [899, 900]) machine.addFile('root', 7, fileOf(TOMCAT), machine.tmpOf(pid));
  const { candidate } = await find(ELSEWHERE);
  expect([candidate.process?.pid, candidate.path.tmp]).toEqual([900, machine.tmpOf(900)]);
});

it('a search by files ignores the file of a dead JVM whose pid was reused', async () => {
  machine.addFile('tomcat', 812, fileOf(TOMCAT, QUIET));
  // 1795227162 s after 1970 is when the sample's JVM began; this process began an hour later.
  machine.addProcess({ pid: 812, startTicks: (1_795_227_162 - 1_000_000 + 3600) * 100 });
  machine.listen('00000000:1F91', 1);
  expect(await failure()).toContain(NOT_FOUND);
});

it('a search by files names no argument of any JVM', async () => {
  const markers = new Markers();
  for (const pid of [812, 813]) {
    const command = `com.example.Main -Dpassword=${markers.at(`${pid}: javaCommand`)}`;
    const flags = `-Djavax.net.ssl.keyStorePassword=${markers.at(`${pid}: jvmArgs`)}`;
    machine.addFile('app', pid, withTexts({ 'sun.rt.javaCommand': command, 'java.rt.vmArgs': flags }));
    machine.addProcess({ pid });
  }
  const causes = await Promise.all([{}, { user: 'app' }, { pid: 5 }].map((options) => failureOf(find(options))));
  expect(causes[1]?.code).toBe('D2S_ERR_JVM_AMBIGUOUS');
  expect(markers.leaksIn(causes.map((each) => `${each.stack} ${JSON.stringify(each)}`).join())).toEqual([]);
});

describe('with a /tmp that is shared and processes that are not visible', () => {
  const addUnseen = (sample = QUIET, command = TOMCAT, user = 'tomcat') =>
    machine.addFile(user, 1, fileOf(command, sample));

  it('takes the file of an application server while its user listens on the port', async () => {
    machine.listen('00000000:1F90', 4711);
    addUnseen();
    expect((await find()).candidate).toMatchObject({ process: undefined, liveness: 'unknown' });
  });

  it.each<[string, string, number | undefined, RegExp]>([
    ['nothing listens, since nothing shows that its JVM runs', QUIET, undefined, /^D2S_ERR_JVM_NOT_FOUND /],
    ['another user listens', QUIET, OWN_UID + 1, /^D2S_ERR_JVM_(NOT_FOUND|ACCESS) /],
    ['the counter of 50 ms has stopped', 'jdk17-g1', OWN_UID, /^D2S_ERR_JVM_NOT_FOUND /],
  ])('ignores it when %s', async (_, sample, listener, told) => {
    if (listener !== undefined) machine.listen('00000000:1F90', 4711, listener);
    addUnseen(sample);
    expect(await failure()).toMatch(told);
  });

  it('takes it when it is locked', async () => {
    machine.lock(fs.statSync(addUnseen()).ino);
    expect((await find(ELSEWHERE)).candidate.liveness).toBe('alive');
  });

  it('matches jvm.pid with the file’s name, and asks for jvm.user if two match', async () => {
    addUnseen(QUIET, 'com.example.Main');
    expect((await find({ pid: 1 })).candidate.path.user).toBe('tomcat');
    addUnseen(QUIET, 'com.example.Main', 'app');
    expect(await failure({ pid: 1 })).toMatch(/^D2S_ERR_JVM_AMBIGUOUS .*jvm\.user/);
    expect((await find({ pid: 1, user: 'app' })).candidate.path.user).toBe('app');
  });
});

it('by jvm.pid, it reports that there is no such process, or that the process has no file', async () => {
  expect(await failure({ pid: 4242 })).toContain(`${NOT_FOUND} jvm.pid is 4242, but there is no such process`);
  machine.addProcess({ pid: 812 });
  expect(await failure({ pid: 812 })).toContain('-XX:-UsePerfData');
});

describe('files that no JVM writes', () => {
  const replaceByLink = (path: string) => {
    const elsewhere = join(machine.directory, 'elsewhere');
    fs.renameSync(path, elsewhere);
    fs.symlinkSync(elsewhere, path);
  };
  const replaceByFolder = (path: string) => {
    fs.rmSync(path);
    fs.mkdirSync(path);
  };
  const unfinish = (path: string) =>
    fs.writeFileSync(path, fs.readFileSync(path).fill(0, ACCESSIBLE_AT, ACCESSIBLE_AT + 1));
  const OPEN = /^D2S_ERR_JVM_ACCESS .*users other than its owner may write/;

  it.each<[string, (path: string) => void, RegExp]>([
    ['a link', replaceByLink, /^D2S_ERR_JVM_ACCESS .*symbolic link/],
    ['a file in a linked folder', (path) => replaceByLink(dirname(path)), /^D2S_ERR_JVM_ACCESS .*directory is a link/],
    ['a file in a folder that its group may write to', (path) => fs.chmodSync(dirname(path), 0o775), OPEN],
    ['a folder of that name', replaceByFolder, /not a regular file/],
    ['a text', (path) => fs.writeFileSync(path, 'x'.repeat(100)), /^D2S_ERR_JVM_FORMAT .*magic number/],
    ['a file of a JVM that has not finished its start', unfinish, /^D2S_ERR_JVM_NOT_FOUND .*is starting/],
  ])('are not read, with the reason: %s', async (_, spoil, told) => {
    spoil(addTomcat());
    expect(await failure({ pid: 812 })).toMatch(told);
  });

  it.skipIf(OWN_UID !== 0)('are not trusted in a directory of another user than the file’s', async () => {
    fs.chownSync(dirname(addTomcat()), 1, 1);
    expect(await failure({ pid: 812 })).toContain('its directory to uid 1');
  });
});

it('ends when its signal aborts', async () => {
  for (let pid = 100; pid < 200; pid += 1) machine.addProcess({ pid, name: 'sh' });
  await expect(find({}, AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
});
