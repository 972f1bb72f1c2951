/** A tree of files that looks like /proc and /tmp to the finder. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface FakeProcess {
  readonly pid: number;
  readonly nspid?: number;
  readonly uid?: number;
  readonly gid?: number;
  readonly name?: string;
  readonly state?: string;
  /** Hexadecimal. */
  readonly capabilities?: string;
  /** Hundredths of a second since the machine's start, which was 1,000,000 s after 1970. */
  readonly startTicks?: number;
  readonly sockets?: readonly number[];
  readonly mountNamespace?: string;
  /** What its maps show, e.g. `/tmp/hsperfdata_tomcat/812`; without, they cannot be read. */
  readonly mapped?: string;
}

export const OWN_UID = process.geteuid?.() ?? 0;

export class FakeMachine {
  readonly directory = mkdtempSync(join(tmpdir(), 'd2s-proc-'));
  readonly procPath = join(this.directory, 'proc');
  readonly tmpPath = join(this.directory, 'tmp');
  #locks = '';

  constructor() {
    mkdirSync(join(this.procPath, 'net'), { recursive: true });
    mkdirSync(this.tmpPath);
    writeFileSync(join(this.procPath, 'stat'), 'cpu 1 2 3\nbtime 1000000\n');
    this.addProcess({ pid: 4, name: 'node', mountNamespace: 'mnt:[1]' }, 'self');
  }

  addProcess(process: FakeProcess, directoryName = String(process.pid)): void {
    const { pid, nspid = pid, uid = OWN_UID, gid = uid, name = 'java', state = 'S', capabilities = '0' } = process;
    const directory = join(this.procPath, directoryName);
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(join(directory, 'fd'), { recursive: true });
    mkdirSync(join(directory, 'ns'));
    const ids = (id: number) => `99999\t${id}\t99999\t99999`;
    const lines = [
      `Name:\t${name}`,
      `State:\t${state} (whatever)`,
      `Pid:\t${pid}`,
      `Uid:\t${ids(uid)}`,
      `Gid:\t${ids(gid)}`,
      `NSpid:\t${pid === nspid ? pid : `${pid}\t${nspid}`}`,
      `CapPrm:\t${capabilities}`,
      `CapEff:\t${capabilities}`,
    ];
    writeFileSync(join(directory, 'status'), `${lines.join('\n')}\n`);
    const fields = [state, ...Array.from({ length: 18 }, () => '1'), String(process.startTicks ?? 500), '7'];
    writeFileSync(join(directory, 'stat'), `${pid} (${name}) ) ${fields.join(' ')}\n`);
    symlinkSync(process.mountNamespace ?? 'mnt:[1]', join(directory, 'ns/mnt'));
    symlinkSync('/dev/null', join(directory, 'fd/0'));
    for (const inode of process.sockets ?? []) symlinkSync(`socket:[${inode}]`, join(directory, `fd/${inode}`));
    if (process.mapped !== undefined)
      writeFileSync(join(directory, 'maps'), `7f00-7f08 rw-s 0 fe:00 12    ${process.mapped}\n`);
  }

  removeProcess(pid: number): void {
    rmSync(join(this.procPath, String(pid)), { recursive: true });
  }

  /** `address` as the kernel prints it on a little-endian machine, e.g. `0100007F:1F90`. */
  listen(address: string, inode: number, uid = OWN_UID): void {
    const row = (local: string, state: string) =>
      `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000 ${uid} 0 ${inode} 1 0\n`;
    const table = address.length > 13 ? 'tcp6' : 'tcp';
    // A connection from that port, too, which is nobody's listener.
    writeFileSync(
      join(this.procPath, 'net', table),
      `  sl local_address\n${row(address, '0A')}${row(address, '01').replace(String(inode), '77')}`,
    );
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

  lock(inode: number | bigint, pid: number): void {
    this.#locks += `1: FLOCK  ADVISORY  WRITE ${pid} fe:00:${inode} 0 EOF\n`;
    writeFileSync(join(this.procPath, 'locks'), this.#locks);
  }

  unlock(): void {
    this.#locks = '';
    writeFileSync(join(this.procPath, 'locks'), '');
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
