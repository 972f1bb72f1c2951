/** A tree of files that looks like /proc and /tmp to the finder. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { entryOf, sampleBytes, withEntry } from '../../support/jvm/hsperfdata/samples.ts';
import { type FakeState, OWN_UID, writeProcess } from './fake-process.ts';

interface FakeProcess extends FakeState {
  readonly pid: number;
  readonly sockets?: readonly number[];
  readonly mountNamespace?: string;
  /** What its maps show, e.g. `/tmp/hsperfdata_tomcat/812`; without, they cannot be read. */
  readonly mapped?: string;
}

export const LOOPBACK_8080 = '0100007F:1F90';
/** The byte of a counters file that is 0 until all counters are there. */
export const ACCESSIBLE_AT = 7;
export const TOMCAT = 'org.apache.catalina.startup.Bootstrap start';

/** A counters file with other texts, e.g. of a JVM with another command. */
export function withTexts(texts: Readonly<Record<string, string>>, sample = 'jdk17-g1'): Buffer {
  let bytes = sampleBytes(sample);
  for (const [name, text] of Object.entries(texts)) {
    bytes.write('X', entryOf(bytes, name).dataOffset - 2, 'latin1');
    bytes = withEntry(bytes, name, text);
  }
  return bytes;
}

export function fileOf(command: string, sample?: string): Buffer {
  return withTexts({ 'sun.rt.javaCommand': command }, sample);
}

export class FakeMachine {
  readonly directory = mkdtempSync(join(tmpdir(), 'd2s-proc-'));
  readonly procPath = join(this.directory, 'proc');
  readonly tmpPath = join(this.directory, 'tmp');

  constructor() {
    mkdirSync(join(this.procPath, 'net'), { recursive: true });
    mkdirSync(this.tmpPath);
    // It was started 1,000,000 s after 1970.
    writeFileSync(join(this.procPath, 'stat'), 'cpu 1 2 3\nbtime 1000000\n');
    this.setOwnUid(OWN_UID);
  }

  /** Who the sidecar runs as. */
  setOwnUid(uid: number): void {
    this.addProcess({ pid: 4, name: 'node', uid }, 'self');
  }

  addProcess(process: FakeProcess, directoryName = String(process.pid)): void {
    const { pid, uid = OWN_UID, gid = uid, sockets = [], mountNamespace = 'mnt:[1]', mapped } = process;
    const directory = join(this.procPath, directoryName);
    rmSync(directory, { recursive: true, force: true });
    writeProcess(directory, pid, { ...process, gid });
    for (const name of ['fd', 'ns']) mkdirSync(join(directory, name));
    symlinkSync(mountNamespace, join(directory, 'ns/mnt'));
    symlinkSync('/dev/null', join(directory, 'fd/0'));
    for (const inode of sockets) symlinkSync(`socket:[${inode}]`, join(directory, `fd/${inode}`));
    if (mapped !== undefined) writeFileSync(join(directory, 'maps'), `7f00-7f08 rw-s 0 fe:00 12    ${mapped}\n`);
  }

  /** A JVM that listens on the upstream's port. */
  addServer(process: FakeProcess, address = LOOPBACK_8080): void {
    this.listen(address, 4711);
    this.addProcess({ sockets: [4711], ...process });
  }

  /** `address` as the kernel prints it on a little-endian machine, e.g. `0100007F:1F90`. */
  listen(address: string, inode: number, uid = OWN_UID): void {
    const row = (state: string, ofSocket: number) =>
      `   0: ${address} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000 ${uid} 0 ${ofSocket} 1 0\n`;
    const table = address.length > 13 ? 'tcp6' : 'tcp';
    // A connection from that port, too, which is nobody's listener.
    writeFileSync(join(this.procPath, 'net', table), `  sl local_address\n${row('0A', inode)}${row('01', 77)}`);
  }

  /** Returns the file's path. */
  addFile(user: string, nspid: number, bytes: Buffer, tmp = this.tmpPath): string {
    const directory = join(tmp, `hsperfdata_${user}`);
    mkdirSync(directory, { recursive: true });
    chmodSync(directory, 0o755);
    const path = join(directory, String(nspid));
    rmSync(path, { force: true });
    writeFileSync(path, bytes, { mode: 0o600 });
    return path;
  }

  /** The /tmp of a process with a mount namespace of its own. */
  tmpOf(pid: number): string {
    return join(this.procPath, String(pid), 'root/tmp');
  }

  /** The list of locks, with one on a file. */
  lock(inode: number): void {
    writeFileSync(join(this.procPath, 'locks'), `1: FLOCK  ADVISORY  WRITE 4000 fe:00:${inode} 0 EOF\n`);
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
