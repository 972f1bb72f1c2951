import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  constants,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FindJvmOptions, findJvm } from '../../../../src/jvm/hsperfdata/find-jvm.ts';
import { SearchBounds } from '../../../../src/jvm/hsperfdata/search-bounds.ts';
import type { JvmErrorCode, JvmSourceError } from '../../../../src/jvm/jvm-source.ts';
import { entryOf, sampleBytes, withEntry } from '../../../support/jvm/hsperfdata/samples.ts';
import { FakeMachine, OWN_UID } from './fake-proc.ts';

let machine: FakeMachine;
beforeEach(() => {
  machine = new FakeMachine();
});
afterEach(() => machine.remove());

/** Then the port says nothing about this machine, and files are all there is. */
const ELSEWHERE = { upstreamHost: 'app.example.com' };
const LOOPBACK_8080 = '0100007F:1F90';
const TOMCAT = 'org.apache.catalina.startup.Bootstrap start';

/** A file of a JVM that was started so. */
function fileOf(command: string, sample = 'jdk17-g1'): Buffer {
  const bytes = sampleBytes(sample);
  const { dataOffset } = entryOf(bytes, 'sun.rt.javaCommand');
  bytes.write('X', dataOffset - 2, 'latin1');
  return withEntry(bytes, 'sun.rt.javaCommand', command);
}

function find(options: Partial<FindJvmOptions> = {}) {
  const { procPath, tmpPath } = machine;
  const nowNs = () => performance.now() * 1e6;
  const bounds = new SearchBounds();
  const all = { procPath, tmpPath, upstreamHost: '127.0.0.1', upstreamPort: 8080, nowNs, bounds, ...options };
  return findJvm(all, new AbortController().signal);
}

async function failure(options?: Partial<FindJvmOptions>): Promise<{ code: JvmErrorCode; message: string }> {
  const error = await find(options).then(
    ({ candidate }) => expect.fail(`found ${JSON.stringify(candidate.path)}`),
    (cause: JvmSourceError) => cause,
  );
  expect(error.name).toBe('JvmSourceError');
  return { code: error.code, message: error.message };
}

describe('by the upstream’s port', () => {
  beforeEach(() => {
    machine.addFile('tomcat', 812, fileOf('com.example.Main'));
    machine.addFile('tomcat', 813, fileOf('com.example.Other'));
    machine.addProcess({ pid: 813 });
  });

  it.each([
    ['127.0.0.1', LOOPBACK_8080],
    ['any IPv4 address', '00000000:1F90'],
    ['any IPv6 address, as Tomcat listens', '00000000000000000000000000000000:1F90'],
    ['127.0.0.1 as a mapped IPv6 address', '0000000000000000FFFF00000100007F:1F90'],
  ])('takes the process that listens on %s, whatever its name', async (_, address) => {
    machine.listen(address, 4711);
    machine.addProcess({ pid: 812, sockets: [4711] });
    const { candidate, listenerInodes } = await find();
    expect(candidate.process?.pid).toBe(812);
    expect(candidate.path).toEqual({ tmp: machine.tmpPath, user: 'tomcat', nspid: 812 });
    expect([...listenerInodes]).toEqual(['4711']);
  });

  it('ignores processes that listen on another address or port', async () => {
    machine.addProcess({ pid: 812, sockets: [4711] });
    machine.listen('0200007F:1F90', 4711);
    expect((await failure()).code).toBe('D2S_ERR_JVM_NOT_FOUND');
    machine.listen('0100007F:1F91', 4711);
    expect((await failure()).message).toContain('nothing listens on the upstream’s port 8080');
  });

  it.each(['localhost', '[::1]', '::1'])('recognises %s as this machine', async (upstreamHost) => {
    machine.listen('00000000000000000000000001000000:1F90', 4711);
    machine.addProcess({ pid: 812, sockets: [4711] });
    expect((await find({ upstreamHost })).candidate.process?.pid).toBe(812);
  });

  it('ignores our ports if the upstream is on another machine', async () => {
    machine.listen('00000000:1F90', 4711);
    machine.addProcess({ pid: 812, sockets: [4711] });
    expect((await failure({ upstreamHost: '203.0.113.9' })).message).toContain('203.0.113.9 is not this machine');
    expect((await failure({ upstreamHost: 'app.example.com' })).code).toBe('D2S_ERR_JVM_NOT_FOUND');
  });

  it('finds the file by the pid in the JVM’s own namespace, in its own /tmp', async () => {
    machine.listen(LOOPBACK_8080, 4711);
    machine.addProcess({ pid: 900, nspid: 1, sockets: [4711], mountNamespace: 'mnt:[2]' });
    machine.addFile('app', 1, fileOf('com.example.Main'), machine.tmpOf(900));
    const { candidate } = await find();
    expect(candidate.process?.pid).toBe(900);
    expect(candidate.path).toEqual({ tmp: machine.tmpOf(900), user: 'app', nspid: 1 });
  });

  it('takes the direct path where another mount namespace has the same /tmp', async () => {
    machine.listen(LOOPBACK_8080, 4711);
    machine.addProcess({ pid: 812, sockets: [4711], mountNamespace: 'mnt:[2]' });
    mkdirSync(join(machine.tmpOf(812), 'hsperfdata_tomcat'), { recursive: true });
    linkSync(join(machine.tmpPath, 'hsperfdata_tomcat/812'), join(machine.tmpOf(812), 'hsperfdata_tomcat/812'));
    expect((await find()).candidate.path.tmp).toBe(machine.tmpPath);
  });

  it('reports why a JVM may have no file, and searches for no other', async () => {
    machine.listen(LOOPBACK_8080, 4711);
    machine.addProcess({ pid: 911, sockets: [4711] });
    machine.addFile('tomcat', 812, fileOf(TOMCAT));
    machine.addProcess({ pid: 812 });
    const { code, message } = await failure();
    expect(code).toBe('D2S_ERR_JVM_NOT_FOUND');
    for (const part of ['pid 911', 'UsePerfData', 'PerfDisableSharedMem', 'passwd', 'read-only', 'jvm.source']) {
      expect(message).toContain(part);
    }
  });

  it('skips a listener that is no JVM, e.g. a proxy, and takes the only application server', async () => {
    machine.listen(LOOPBACK_8080, 4711, 0);
    machine.addProcess({ pid: 20, name: 'docker-proxy', sockets: [4711] });
    machine.addFile('tomcat', 812, fileOf(TOMCAT));
    machine.addProcess({ pid: 812 });
    expect((await find()).candidate.process?.pid).toBe(812);
  });

  it('asks to choose between two JVMs that share the socket', async () => {
    machine.listen(LOOPBACK_8080, 4711);
    machine.addProcess({ pid: 812, sockets: [4711] });
    machine.addProcess({ pid: 813, sockets: [4711] });
    const { code, message } = await failure();
    expect(code).toBe('D2S_ERR_JVM_AMBIGUOUS');
    expect(message).toMatch(/pid 812 .*pid 813 .*jvm\.pid/);
  });
});

describe('by the counters files', () => {
  it('takes the only application server, and none of the tools and other JVMs', async () => {
    machine.addFile('tomcat', 812, fileOf(TOMCAT));
    machine.addFile('tomcat', 813, fileOf('org.apache.catalina.startup.Bootstrap stop'));
    machine.addFile('tomcat', 814, fileOf('jdk.jcmd/sun.tools.jcmd.JCmd 812 VM.flags'));
    machine.addFile('tomcat', 815, fileOf('com.example.Main'));
    for (const pid of [812, 813, 814, 815]) machine.addProcess({ pid });
    expect((await find(ELSEWHERE)).candidate.process?.pid).toBe(812);
  });

  it('lists two application servers and the key to set instead of guessing', async () => {
    machine.addFile('tomcat', 812, fileOf(TOMCAT));
    machine.addFile('wildfly', 913, fileOf('/opt/wildfly/jboss-modules.jar -mp x org.jboss.as.standalone'));
    machine.addProcess({ pid: 812 });
    machine.addProcess({ pid: 913 });
    const { code, message } = await failure(ELSEWHERE);
    expect(code).toBe('D2S_ERR_JVM_AMBIGUOUS');
    expect(message).toBe(
      '2 JVMs are candidates: pid 812 (user tomcat, org.apache.catalina.startup.Bootstrap), ' +
        'pid 913 (user wildfly, jboss-modules.jar). Set jvm.pid, or jvm.user, to the right one.',
    );
    expect((await find({ ...ELSEWHERE, user: 'wildfly' })).candidate.process?.pid).toBe(913);
    expect((await find({ ...ELSEWHERE, pid: 812 })).candidate.process?.pid).toBe(812);
  });

  it('takes a user’s only JVM of another kind when that user is configured', async () => {
    machine.addFile('app', 812, fileOf('com.example.Main'));
    machine.addFile('app', 813, fileOf('jdk.jcmd/sun.tools.jps.Jps'));
    machine.addProcess({ pid: 812 });
    machine.addProcess({ pid: 813 });
    expect((await failure(ELSEWHERE)).message).toContain('only pid 812 (user app, com.example.Main)');
    expect((await find({ ...ELSEWHERE, user: 'app' })).candidate.process?.pid).toBe(812);
    expect((await failure({ ...ELSEWHERE, user: 'tomcat' })).message).toContain('of user tomcat (jvm.user)');
  });

  it('finds a JVM in the /tmp of a container whose processes are visible', async () => {
    machine.addProcess({ pid: 899, nspid: 1, name: 'sh', mountNamespace: 'mnt:[2]' });
    machine.addProcess({ pid: 900, nspid: 7, mountNamespace: 'mnt:[2]' });
    machine.addFile('root', 7, fileOf(TOMCAT), machine.tmpOf(899));
    machine.addFile('root', 7, fileOf(TOMCAT), machine.tmpOf(900));
    const { candidate } = await find(ELSEWHERE);
    expect(candidate.process?.pid).toBe(900);
    expect(candidate.path.tmp).toBe(machine.tmpOf(900));
  });

  it('ignores the file of a dead JVM whose pid was reused', async () => {
    machine.addFile('tomcat', 812, fileOf(TOMCAT, 'jdk25-g1'));
    // 1795227162 s after 1970 is when the sample's JVM began; this process began an hour later.
    machine.addProcess({ pid: 812, startTicks: (1_795_227_162 - 1_000_000 + 3600) * 100 });
    machine.listen('00000000:1F91', 1);
    expect((await failure()).code).toBe('D2S_ERR_JVM_NOT_FOUND');
  });

  it('ignores a process that has not mapped the file', async () => {
    machine.addFile('tomcat', 812, fileOf(TOMCAT));
    machine.addProcess({ pid: 812, name: 'bash', mapped: '/usr/bin/bash' });
    expect((await failure(ELSEWHERE)).code).toBe('D2S_ERR_JVM_NOT_FOUND');
    machine.addProcess({ pid: 812, mapped: '/tmp/hsperfdata_tomcat/812' });
    expect((await find(ELSEWHERE)).candidate.process?.pid).toBe(812);
  });

  it('names no argument of any JVM', async () => {
    machine.addFile('app', 812, fileOf('com.example.Main --password=hunter2 hunter2'));
    machine.addFile('app', 813, fileOf('com.example.Main hunter2'));
    machine.addProcess({ pid: 812 });
    machine.addProcess({ pid: 813 });
    const messages = [await failure(), await failure({ user: 'app' }), await failure({ pid: 5 })];
    expect(JSON.stringify(messages)).not.toContain('hunter2');
    expect(messages[1]?.code).toBe('D2S_ERR_JVM_AMBIGUOUS');
  });
});

describe('with a /tmp that is shared and processes that are not visible', () => {
  it('takes the file of an application server while its user listens on the port', async () => {
    machine.listen('00000000:1F90', 4711);
    machine.addFile('tomcat', 1, fileOf(TOMCAT, 'jdk25-g1'));
    const { candidate } = await find();
    expect(candidate.process).toBeUndefined();
    expect(candidate.liveness).toBe('unknown');
  });

  it('ignores it when nothing listens, since nothing shows that its JVM runs', async () => {
    machine.addFile('tomcat', 1, fileOf(TOMCAT, 'jdk25-g1'));
    expect((await failure()).code).toBe('D2S_ERR_JVM_NOT_FOUND');
  });

  it('ignores it when another user listens', async () => {
    machine.listen('00000000:1F90', 4711, OWN_UID + 1);
    machine.addFile('tomcat', 1, fileOf(TOMCAT, 'jdk25-g1'));
    expect((await failure()).code).toMatch(/D2S_ERR_JVM_(NOT_FOUND|ACCESS)/);
  });

  it('takes it when it is locked', async () => {
    const path = machine.addFile('tomcat', 1, fileOf(TOMCAT, 'jdk25-g1'));
    machine.lock(statSync(path).ino, 4000);
    expect((await find(ELSEWHERE)).candidate.liveness).toBe('alive');
  });

  it('ignores it when the counter of 50 ms has stopped', async () => {
    machine.listen('00000000:1F90', 4711);
    machine.addFile('tomcat', 1, fileOf(TOMCAT, 'jdk17-g1'));
    expect((await failure()).code).toBe('D2S_ERR_JVM_NOT_FOUND');
  });

  it('takes it when that counter moves', async () => {
    const bytes = fileOf(TOMCAT, 'jdk17-g1');
    const path = machine.addFile('tomcat', 1, bytes);
    const searching = find(ELSEWHERE);
    setTimeout(() => {
      bytes.writeBigInt64LE(5_000_000_000n, entryOf(bytes, 'sun.os.hrt.ticks').dataOffset);
      writeFileSync(path, bytes);
    }, 60);
    expect((await searching).candidate.liveness).toBe('alive');
  });

  it('matches jvm.pid with the file’s name, and asks for jvm.user if two match', async () => {
    machine.addFile('tomcat', 1, fileOf('com.example.Main', 'jdk25-g1'));
    expect((await find({ pid: 1 })).candidate.path.user).toBe('tomcat');
    machine.addFile('app', 1, fileOf('com.example.Main', 'jdk25-g1'));
    expect(await failure({ pid: 1 })).toMatchObject({
      code: 'D2S_ERR_JVM_AMBIGUOUS',
      message: expect.stringContaining('jvm.user'),
    });
    expect((await find({ pid: 1, user: 'app' })).candidate.path.user).toBe('app');
  });

  it('does not mistake its own container’s first process for the JVM', async () => {
    machine.addProcess({ pid: 1, name: 'tini', mapped: '/sbin/tini' });
    machine.addFile('tomcat', 1, fileOf(TOMCAT, 'jdk25-g1'));
    const { candidate } = await find({ pid: 1 });
    expect(candidate.process).toBeUndefined();
  });
});

describe('by jvm.pid', () => {
  it('reports that there is no such process', async () => {
    expect(await failure({ pid: 4242 })).toMatchObject({
      code: 'D2S_ERR_JVM_NOT_FOUND',
      message: expect.stringContaining('jvm.pid is 4242, but there is no such process'),
    });
  });

  it('reports that the process has no file', async () => {
    machine.addProcess({ pid: 812 });
    expect(await failure({ pid: 812 })).toMatchObject({ message: expect.stringContaining('-XX:-UsePerfData') });
  });
});

describe('files that no JVM writes', () => {
  let path: string;
  beforeEach(() => {
    machine.addProcess({ pid: 812 });
    path = machine.addFile('tomcat', 812, fileOf(TOMCAT));
  });

  it('does not follow a symbolic link', async () => {
    const elsewhere = join(machine.directory, 'elsewhere');
    renameSync(path, elsewhere);
    symlinkSync(elsewhere, path);
    expect(await failure({ pid: 812 })).toMatchObject({
      code: 'D2S_ERR_JVM_ACCESS',
      message: expect.stringContaining('symbolic link'),
    });
  });

  it('does not follow a symbolic link of the directory', async () => {
    const directory = join(machine.tmpPath, 'hsperfdata_tomcat');
    renameSync(directory, join(machine.directory, 'elsewhere'));
    symlinkSync(join(machine.directory, 'elsewhere'), directory);
    const { code, message } = await failure({ pid: 812 });
    expect(code).toBe('D2S_ERR_JVM_ACCESS');
    expect(message).toContain('its directory is a link');
  });

  it.each([0o775, 0o757, 0o777])('does not trust a directory with mode %o', async (mode) => {
    chmodSync(join(machine.tmpPath, 'hsperfdata_tomcat'), mode);
    const { code, message } = await failure({ pid: 812 });
    expect(code).toBe('D2S_ERR_JVM_ACCESS');
    expect(message).toContain('others than its owner may write');
  });

  it('does not read a directory of that name', async () => {
    rmSync(path);
    mkdirSync(path);
    expect(await failure({ pid: 812 })).toMatchObject({ message: expect.stringContaining('not a regular file') });
  });

  it('reports what is wrong with a file that HotSpot did not write', async () => {
    writeFileSync(path, 'x'.repeat(100));
    const { code, message } = await failure({ pid: 812 });
    expect(code).toBe('D2S_ERR_JVM_FORMAT');
    expect(message).toContain('magic number');
  });

  it('reports a JVM that has not finished its start as starting', async () => {
    const bytes = fileOf(TOMCAT);
    bytes.writeUInt8(0, 7);
    writeFileSync(path, bytes);
    expect(await failure({ pid: 812 })).toMatchObject({
      code: 'D2S_ERR_JVM_NOT_FOUND',
      message: expect.stringContaining('is starting'),
    });
  });

  it.skipIf(OWN_UID !== 0)('does not trust a directory of another user than the file’s', async () => {
    const { chownSync } = await import('node:fs');
    chownSync(join(machine.tmpPath, 'hsperfdata_tomcat'), 1, 1);
    expect(await failure({ pid: 812 })).toMatchObject({ message: expect.stringContaining('its directory to uid 1') });
  });
});

it('ends when its signal aborts', async () => {
  for (let pid = 100; pid < 200; pid += 1) machine.addProcess({ pid, name: 'sh' });
  const { procPath, tmpPath } = machine;
  const search = findJvm(
    { procPath, tmpPath, nowNs: () => 0, bounds: new SearchBounds() },
    AbortSignal.abort(new Error('too late')),
  );
  await expect(search).rejects.toThrow('too late');
});

describe('files that the kernel produces slowly', () => {
  beforeEach(() => {
    machine.addFile('tomcat', 812, fileOf(TOMCAT));
    // No lock: then the maps are asked, too.
    machine.unlock();
    machine.listen(LOOPBACK_8080, 4711);
    machine.listen('00000000000000000000000001000000:1F90', 4712);
    machine.addProcess({ pid: 812, sockets: [4711], mapped: '/tmp/hsperfdata_tomcat/812' });
  });

  /**
   * Becomes a pipe. `serve` gives its first reader what the file held, and the next one a new pipe; false where nobody has opened it.
   * Whoever holds the event loop while he waits for it is never served.
   */
  function toPipe(name: string): { serve(): boolean; end(): void } {
    const path = join(machine.procPath, name);
    const content = readFileSync(path);
    const replace = () => {
      execFileSync('mkfifo', [`${path}.new`]);
      renameSync(`${path}.new`, path);
    };
    replace();
    // Without it, such a test would hang for ever instead of failing.
    const rescue = spawn('sh', ['-c', 'sleep 5; : > "$0"', path], { stdio: 'ignore' });
    return {
      serve: () => {
        const fd = openedByReader(path);
        if (fd === undefined) return false;
        replace();
        writeFileSync(fd, content);
        closeSync(fd);
        return true;
      },
      end: () => void rescue.kill('SIGKILL'),
    };
  }

  function openedByReader(path: string): number | undefined {
    try {
      return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch (cause) {
      expect((cause as NodeJS.ErrnoException).code).toBe('ENXIO');
      return undefined;
    }
  }

  it.each(['net/tcp', 'net/tcp6', 'locks', '812/maps'])('are read on another thread: %s', async (name) => {
    const pipe = toPipe(name);
    let isSettled = false;
    let served = 0;
    const finding = find().finally(() => {
      isSettled = true;
    });
    try {
      while (!isSettled) {
        if (pipe.serve()) served += 1;
        await nextTurn();
      }
    } finally {
      pipe.end();
    }
    expect((await finding).candidate).toMatchObject({ process: { pid: 812 }, liveness: 'alive' });
    expect(served).toBeGreaterThan(0);
  });
});
