/** A JVM as /proc and its attach socket show it, without a JVM. */

import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AttachSystem, createAttachSystem } from '../../../../src/jvm/attach/attach-system.ts';
import type { VisibleJvm } from '../../../../src/jvm/hsperfdata/visible-jvm.ts';
import { answerOf } from '../../../support/jvm/attach/samples.ts';

export const PID = 4711;
export const NSPID = 7;
const UID = process.geteuid?.() ?? 0;
const GID = process.getegid?.() ?? 0;

export interface FakeState {
  readonly state?: string;
  readonly nspid?: number;
  readonly uid?: number;
  readonly gid?: number;
  /** Hexadecimal. Default: a JVM's, with SIGQUIT. */
  readonly caught?: string;
  readonly startTicks?: number;
  /** Hexadecimal: signals that wait for the process, or for its first thread. */
  readonly pending?: string;
  readonly pendingOnThread?: string;
  /** Names of its threads. */
  readonly threads?: readonly string[];
  readonly cmdline?: readonly string[];
  /** `undefined`: may not be read. */
  readonly maps?: string | undefined;
  readonly comm?: string;
}

export class FakeJvm {
  readonly directory = mkdtempSync(join(tmpdir(), 'd2s-attach-'));
  readonly procPath = join(this.directory, 'proc');
  readonly rootPath = join(this.directory, 'root');
  readonly tmpPath = join(this.rootPath, 'tmp');
  readonly cwd = join(this.directory, 'cwd');
  readonly socketPath = join(this.tmpPath, `.java_pid${NSPID}`);
  readonly target: VisibleJvm = { pid: PID, nspid: NSPID, uid: UID, gid: GID, rootPath: this.rootPath };
  /** Every signal, with the marker files that were there when it came. */
  readonly signals: { readonly pid: number; readonly markers: readonly string[] }[] = [];
  /** What came over the socket. */
  readonly requests: string[] = [];
  onSignal: () => void = () => undefined;
  /** By command; without one, the sample of a real JVM. `undefined` hangs. */
  answer: (command: string) => string | undefined = answerOfSample;
  readonly #servers = new Set<Server>();
  readonly #sockets = new Set<Socket>();

  constructor(state: FakeState = {}) {
    mkdirSync(join(this.procPath, String(PID), 'ns'), { recursive: true });
    mkdirSync(join(this.procPath, 'self/ns'), { recursive: true });
    writeFileSync(join(this.procPath, 'self/status'), `Pid:\t${process.pid}\nNSpid:\t${process.pid}\n`);
    writeFileSync(join(this.procPath, 'uptime'), '1000.50 3000.00\n');
    this.setUserNamespace('self', 'user:[1]');
    this.setUserNamespace(PID, 'user:[1]');
    mkdirSync(this.tmpPath, { recursive: true });
    mkdirSync(this.cwd);
    symlinkSync(this.cwd, join(this.procPath, String(PID), 'cwd'));
    this.become(state);
  }

  system(replaced: Partial<AttachSystem> = {}): AttachSystem {
    return createAttachSystem({
      procPath: this.procPath,
      architecture: 'x64',
      kill: (pid) => {
        this.signals.push({ pid, markers: this.markers() });
        this.onSignal();
      },
      ...replaced,
    });
  }

  become(state: FakeState): void {
    const { nspid = NSPID, uid = UID, gid = GID, caught = '2000000181005ccf', startTicks = 500 } = state;
    const ids = (id: number) => `99999\t${id}\t99999\t99999`;
    const lines = [
      'Name:\tjava',
      `State:\t${state.state ?? 'S'} (whatever)`,
      `Pid:\t${PID}`,
      `Uid:\t${ids(uid)}`,
      `Gid:\t${ids(gid)}`,
      `NSpid:\t${PID}\t${nspid}`,
      `SigPnd:\t${state.pendingOnThread ?? '0000000000000000'}`,
      `ShdPnd:\t${state.pending ?? '0000000000000000'}`,
      `SigCgt:\t${caught}`,
    ];
    this.#write('status', `${lines.join('\n')}\n`);
    const fields = [state.state ?? 'S', ...Array.from({ length: 18 }, () => '1'), String(startTicks), '7'];
    this.#write('stat', `${PID} (a ) b) ${fields.join(' ')}\n`);
    this.#write('cmdline', `${(state.cmdline ?? ['java', '-Dpassword=secret', 'Main']).join('\0')}\0`);
    this.#write('comm', `${state.comm ?? 'java'}\n`);
    const maps = '7f0-7f8 r-xp 0 fe:00 12    /opt/jdk/lib/server/libjvm.so\n7f9-7fa rw-p 0 00:00 0 \n';
    if ('maps' in state && state.maps === undefined) rmSync(join(this.procPath, String(PID), 'maps'), { force: true });
    else this.#write('maps', state.maps ?? maps);
    const tasks = join(this.procPath, String(PID), 'task');
    rmSync(tasks, { recursive: true, force: true });
    for (const [index, name] of (state.threads ?? ['java', 'java', 'VM Thread', 'Signal Dispatch']).entries()) {
      mkdirSync(join(tasks, String(PID + index)), { recursive: true });
      writeFileSync(join(tasks, String(PID + index), 'comm'), `${name}\n`);
    }
  }

  /** `undefined`: may not be read. */
  setUserNamespace(of: number | 'self', name: string | undefined, map = '         0          0 4294967295\n'): void {
    const folder = join(this.procPath, String(of));
    rmSync(join(folder, 'ns/user'), { force: true });
    if (name !== undefined) symlinkSync(name, join(folder, 'ns/user'));
    writeFileSync(join(folder, 'uid_map'), map);
  }

  end(): void {
    rmSync(join(this.procPath, String(PID)), { recursive: true });
  }

  /** The marker files that are there. */
  markers(): string[] {
    return [this.cwd, this.tmpPath].filter(existsSync).flatMap((folder) =>
      readdirSync(folder)
        .filter((name) => name.startsWith('.attach_pid'))
        .map((name) => join(folder, name).slice(this.directory.length + 1)),
    );
  }

  /** The socket is there when this returns, and answers when it resolves. */
  async listen(path = this.socketPath, mode = 0o600): Promise<void> {
    const server = createServer((socket) => this.#serve(socket)).listen(path);
    this.#servers.add(server);
    chmodSync(path, mode);
    await once(server, 'listening');
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    let request = '';
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      request += chunk.toString('latin1');
      if (request.split('\0').length < 6) return;
      this.requests.push(request);
      const answer = this.answer(request.split('\0')[2] as string);
      if (answer !== undefined) socket.end(answer);
    });
  }

  /** Like SIGKILL: the socket's file stays. */
  async die(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    const servers = [...this.#servers];
    this.#servers.clear();
    // Node removes the file of a server that it closes. A name that is elsewhere meanwhile stays.
    const isThere = existsSync(this.socketPath);
    if (isThere) renameSync(this.socketPath, `${this.socketPath}.kept`);
    for (const server of servers) {
      server.close();
      await once(server, 'close');
    }
    if (isThere) renameSync(`${this.socketPath}.kept`, this.socketPath);
  }

  async remove(): Promise<void> {
    await this.die();
    rmSync(this.directory, { recursive: true, force: true });
  }

  #write(name: string, text: string): void {
    writeFileSync(join(this.procPath, String(PID), name), text);
  }
}

function answerOfSample(command: string): string {
  const questions = new Map([
    ['GC.heap_info', 'heap_info'],
    ['VM.metaspace basic scale=1', 'metaspace-basic'],
    ['Compiler.codecache', 'codecache'],
    ['VM.flags', 'flags'],
  ] as const);
  const question = questions.get(command as 'VM.flags');
  return question === undefined ? '-1\nunknown' : `0\n${answerOf('jdk25-serial', question)}`;
}
