/** A JVM as /proc and its attach socket show it, without a JVM. */
import { once } from 'node:events';
import fs from 'node:fs';
import promises, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AttachSystem, createAttachSystem } from '../../../src/jvm/attach/process-state.ts';
import type { VisibleJvm } from '../../../src/jvm/hsperfdata/hsperfdata-source.ts';
import { answerOf } from '../../support/jvm/attach/samples.ts';
import { type FakeState, OWN_UID, writeProcess } from './fake-process.ts';

/** Kept from the garbage collector, which would close what was forgotten, and hide it. */
const opened: FileHandle[] = [];
const { open } = promises;
promises.open = async (...args) => {
  const handle = await open(...args);
  opened.push(handle);
  return handle;
};
syncBuiltinESMExports();

export const PID = 4711;
const NSPID = 7;
const MARKER = `.attach_pid${NSPID}`;
const MAPS = '7f0-7f8 r-xp 0 fe:00 12    /opt/jdk/lib/server/libjvm.so\n7f9-7fa rw-p 0 00:00 0 \n';
const QUESTIONS = {
  'GC.heap_info': 'heap_info',
  'VM.metaspace basic scale=1': 'metaspace-basic',
  'Compiler.codecache': 'codecache',
  'VM.flags': 'flags',
} as const;

export interface FakeJvmState extends FakeState {
  /** Names of its threads. */
  readonly threads?: readonly string[];
  readonly cmdline?: readonly string[];
  /** `undefined`: may not be read. */
  readonly maps?: string | undefined;
  readonly comm?: string;
}

export class FakeJvm {
  readonly directory = fs.mkdtempSync(join(tmpdir(), 'd2s-attach-'));
  readonly procPath = join(this.directory, 'proc');
  readonly rootPath = join(this.directory, 'root');
  readonly tmpPath = join(this.rootPath, 'tmp');
  readonly cwd = join(this.directory, 'cwd');
  readonly socketPath = join(this.tmpPath, `.java_pid${NSPID}`);
  readonly markerPath = join(this.cwd, MARKER);
  readonly target: VisibleJvm;
  /** Every signal, with the marker files that were there when it came. */
  readonly signals: { readonly pid: number; readonly markers: readonly string[] }[] = [];
  /** What came over the socket. */
  readonly requests: string[] = [];
  onSignal: () => void = () => undefined;
  /** By command; without one, the sample of a real JVM. `undefined` hangs. */
  answer: (command: string) => string | undefined = answerOfSample;
  readonly #servers = new Set<Server>();
  readonly #sockets = new Set<Socket>();
  readonly #folder = join(this.procPath, String(PID));

  constructor() {
    opened.length = 0;
    const gid = process.getegid?.() ?? 0;
    const ids = { pid: PID, nspid: NSPID, uid: OWN_UID, gid };
    this.target = { ...ids, rootPath: this.rootPath, tmpPath: this.tmpPath, description: `pid ${PID}` };
    fs.mkdirSync(this.tmpPath, { recursive: true });
    fs.mkdirSync(this.cwd);
    fs.mkdirSync(join(this.procPath, 'self/ns'), { recursive: true });
    fs.writeFileSync(join(this.procPath, 'self/status'), `Pid:\t${process.pid}\nNSpid:\t${process.pid}\n`);
    fs.writeFileSync(join(this.procPath, 'uptime'), '1000.50 3000.00\n');
    this.setUserNamespace('self', 'user:[1]');
    this.setUserNamespace(PID, 'user:[1]');
    fs.symlinkSync(this.cwd, join(this.#folder, 'cwd'));
    this.become({});
  }

  system(replaced: Partial<AttachSystem> = {}): AttachSystem {
    const kill = (pid: number) => {
      this.signals.push({ pid, markers: this.markers() });
      this.onSignal();
    };
    return createAttachSystem({ procPath: this.procPath, architecture: 'x64', kill, ...replaced });
  }

  become(state: FakeJvmState): void {
    const { cmdline = ['java', '-Dpassword=secret', 'Main'], comm = 'java' } = state;
    const { threads = ['java', 'java', 'VM Thread', 'Signal Dispatch'], maps } = { maps: MAPS, ...state };
    writeProcess(this.#folder, PID, { nspid: NSPID, ...state });
    const files: Record<string, string> = { cmdline: `${cmdline.join('\0')}\0`, comm: `${comm}\n` };
    if (maps !== undefined) files.maps = maps;
    for (const name of maps === undefined ? ['maps', 'task'] : ['task']) {
      fs.rmSync(join(this.#folder, name), { recursive: true, force: true });
    }
    for (const [index, name] of threads.entries()) files[`task/${PID + index}/comm`] = `${name}\n`;
    for (const [name, text] of Object.entries(files)) {
      fs.mkdirSync(join(this.#folder, name, '..'), { recursive: true });
      fs.writeFileSync(join(this.#folder, name), text);
    }
  }

  /** `undefined`: may not be read. */
  setUserNamespace(of: number | 'self', name: string | undefined, map = '         0          0 4294967295\n'): void {
    const folder = join(this.procPath, String(of));
    fs.mkdirSync(join(folder, 'ns'), { recursive: true });
    fs.rmSync(join(folder, 'ns/user'), { force: true });
    if (name !== undefined) fs.symlinkSync(name, join(folder, 'ns/user'));
    fs.writeFileSync(join(folder, 'uid_map'), map);
  }

  end(): void {
    fs.rmSync(this.#folder, { recursive: true });
  }

  /** Opens its socket when it is asked. */
  obey(): void {
    this.onSignal = () => void this.listen();
  }

  /** Resolves with the next signal, of which nothing else comes. */
  signalled(): Promise<void> {
    return new Promise((resolve) => {
      this.onSignal = resolve;
    });
  }

  /** The marker files that are there. */
  markers(): string[] {
    const folders = [this.cwd, this.tmpPath].filter((folder) => fs.existsSync(folder));
    return folders
      .filter((folder) => fs.readdirSync(folder).includes(MARKER))
      .map((folder) => join(folder, MARKER).slice(this.directory.length + 1));
  }

  /** The socket is there when this returns, and answers when it resolves. */
  async listen(path = this.socketPath, mode = 0o600): Promise<void> {
    const server = createServer((socket) => this.#serve(socket)).listen(path);
    this.#servers.add(server);
    fs.chmodSync(path, mode);
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

  /** Files that have been opened since its start, and how many of them still are. */
  get files(): { readonly opened: number; readonly open: number } {
    return { opened: opened.length, open: opened.filter(({ fd }) => fd !== -1).length };
  }

  /** Like SIGKILL: the socket's file stays. */
  async die(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    const servers = [...this.#servers];
    this.#servers.clear();
    // Node removes the file of a server that it closes. A name that is elsewhere meanwhile stays.
    const isThere = fs.existsSync(this.socketPath);
    if (isThere) fs.renameSync(this.socketPath, `${this.socketPath}.kept`);
    for (const server of servers) {
      server.close();
      await once(server, 'close');
    }
    if (isThere) fs.renameSync(`${this.socketPath}.kept`, this.socketPath);
  }

  async remove(): Promise<void> {
    await this.die();
    fs.rmSync(this.directory, { recursive: true, force: true });
  }
}

function answerOfSample(command: string): string {
  const question = QUESTIONS[command as keyof typeof QUESTIONS];
  return question === undefined ? '-1\nunknown' : `0\n${answerOf('jdk25-serial', question)}`;
}
