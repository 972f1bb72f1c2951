/**
 * Real JVMs for the tests: which are installed, which collectors each of them has, and a program in one of them (Truth.java)
 * that does what it is told and says what its own MXBeans say.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Beans } from '../../../support/jvm/truth/beans.ts';

const run = promisify(execFile);

const JVM_FOLDER = '/usr/lib/jvm';
/** The oldest JVM that the project supports: what is compiled for it runs on all of them. */
const CLASS_FILE_RELEASE = '17';
const ANSWER_TIMEOUT_MS = 15_000;
const POLL_MS = 5;
const HEAP_OPTIONS = ['-Xms32m', '-Xmx96m'];

export interface Jvm {
  /** E.g. `/usr/lib/jvm/java-17-openjdk-amd64`. */
  readonly home: string;
  /** E.g. 17. */
  readonly major: number;
}

/** `z` and `shenandoah` are those without generations. */
export const COLLECTORS = [
  'serial',
  'parallel',
  'g1',
  'z',
  'z-generational',
  'shenandoah',
  'shenandoah-generational',
] as const;

export type Collector = (typeof COLLECTORS)[number];

/** From 24 on ZGC is always generational, and the option for it is accepted without effect. */
const ALWAYS_GENERATIONAL_Z = 24;

/** Undefined for what this release does not have at all. */
function optionsOf({ major }: Jvm, collector: Collector): readonly string[] | undefined {
  switch (collector) {
    case 'serial':
      return ['-XX:+UseSerialGC'];
    case 'parallel':
      return ['-XX:+UseParallelGC'];
    case 'g1':
      return ['-XX:+UseG1GC'];
    case 'z':
      return major < ALWAYS_GENERATIONAL_Z ? ['-XX:+UseZGC'] : undefined;
    case 'z-generational':
      return major < ALWAYS_GENERATIONAL_Z ? ['-XX:+UseZGC', '-XX:+ZGenerational'] : ['-XX:+UseZGC'];
    case 'shenandoah':
      return ['-XX:+UseShenandoahGC'];
    case 'shenandoah-generational':
      return ['-XX:+UnlockExperimentalVMOptions', '-XX:+UseShenandoahGC', '-XX:ShenandoahGCMode=generational'];
  }
}

/** All JVMs in /usr/lib/jvm, each once whatever links to it, by version. */
export function installedJvms(): Jvm[] {
  if (!existsSync(JVM_FOLDER)) return [];
  const homes = readdirSync(JVM_FOLDER)
    .map((entry) => join(JVM_FOLDER, entry))
    .filter((home) => existsSync(join(home, 'bin/java')))
    .map((home) => realpathSync(home));
  return [...new Set(homes)]
    .map((home) => ({ home, major: majorOf(home) }))
    .sort((a, b) => a.major - b.major || a.home.localeCompare(b.home));
}

function majorOf(home: string): number {
  // `JAVA_VERSION="17.0.15"`; every JDK and JRE since 9 has the file.
  const version = /^JAVA_VERSION="(\d+)/m.exec(readFileSync(join(home, 'release'), 'utf8'))?.[1];
  if (version === undefined) throw new Error(`${home}/release has no JAVA_VERSION`);
  return Number(version);
}

/** Whether some installed JVM comes with a compiler. */
export function isCompilerInstalled(): boolean {
  return compilerHome() !== undefined;
}

function compilerHome(): string | undefined {
  return installedJvms()
    .map((jvm) => jvm.home)
    .find((home) => existsSync(join(home, 'bin/javac')));
}

/**
 * The collectors that this JVM really starts with. The list of its flags would not do: a build without a collector has its
 * flag all the same.
 */
export async function collectorsOf(jvm: Jvm): Promise<Collector[]> {
  const found: Collector[] = [];
  for (const collector of COLLECTORS) {
    const options = optionsOf(jvm, collector);
    if (options !== undefined && (await startsWith(jvm, options))) found.push(collector);
  }
  return found;
}

async function startsWith(jvm: Jvm, options: readonly string[]): Promise<boolean> {
  try {
    await run(join(jvm.home, 'bin/java'), [...options, '-Xmx96m', '-version']);
    return true;
  } catch {
    // The JVM refused the options, which is the answer.
    return false;
  }
}

/** Compiles Truth.java into a temporary folder. Call `remove` when no JVM runs on it any more. */
export async function compileTruth(): Promise<{ readonly classPath: string; remove(): void }> {
  const home = compilerHome();
  if (home === undefined) throw new Error(`no javac in ${JVM_FOLDER}`);
  const classPath = mkdtempSync(join(tmpdir(), 'd2s-truth-'));
  const source = fileURLToPath(new URL('./Truth.java', import.meta.url));
  await run(join(home, 'bin/javac'), ['--release', CLASS_FILE_RELEASE, '-d', classPath, source]);
  return { classPath, remove: () => rmSync(classPath, { recursive: true, force: true }) };
}

export interface TruthOptions {
  readonly jvm: Jvm;
  readonly collector: Collector;
  /** From `compileTruth`. */
  readonly classPath: string;
  /** Further options of the JVM. Default: 32 MB of heap that may grow to 96 MB. */
  readonly options?: readonly string[];
  /** Default: a free one. */
  readonly port?: number;
  /** As which user and group it runs. Default: as the test. */
  readonly uid?: number;
  readonly gid?: number;
}

export interface Truth {
  readonly pid: number;
  /** A TCP port on loopback on which it listens. */
  readonly port: number;
  /** What the MXBeans say now. */
  beans(): Promise<Beans>;
  /** A full collection, done when this resolves. */
  gc(): Promise<void>;
  /** Allocates that many MB and keeps none of it. */
  allocate(mb: number): Promise<void>;
  /** Allocates that many MB and keeps them until `forget`. */
  keep(mb: number): Promise<void>;
  forget(): Promise<void>;
  /** Loads that many classes, each in a class loader of its own. */
  loadClasses(n: number): Promise<void>;
  /** Lets go of those class loaders; the next full collection unloads them. */
  dropClasses(): Promise<void>;
  /** Sends the signal and waits until the kernel shows what it does: the end (SIGKILL, SIGTERM), standing still, or going on. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Ends it in good order, by the end of its input; SIGKILL when it does not. Harmless when it has ended. */
  stop(): Promise<void>;
}

/** Starts Truth.java and waits for its port. Rejects with what it printed when it ends before. */
export async function startTruth(options: TruthOptions): Promise<Truth> {
  const { jvm, collector, classPath, uid, gid } = options;
  const choice = optionsOf(jvm, collector);
  if (choice === undefined) throw new Error(`JDK ${jvm.major} has no collector ${collector}`);
  const flags = [...choice, ...(options.options ?? HEAP_OPTIONS)];
  const child = spawn(join(jvm.home, 'bin/java'), [...flags, '-cp', classPath, 'Truth', String(options.port ?? 0)], {
    stdio: ['pipe', 'pipe', 'pipe'],
    // A JVM adds these to its options and says so on standard error.
    env: { ...process.env, JAVA_TOOL_OPTIONS: undefined, JDK_JAVA_OPTIONS: undefined },
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
  });
  const program = new TruthProcess(child);
  try {
    const { pid, port } = (await program.answer()) as { pid: number; port: number };
    return truthOf(program, pid, port);
  } catch (cause) {
    await program.stop();
    throw cause;
  }
}

function truthOf(program: TruthProcess, pid: number, port: number): Truth {
  const tell = async (line: string): Promise<void> => {
    await program.ask(line);
  };
  return {
    pid,
    port,
    beans: async () => (await program.ask('beans')) as Beans,
    gc: () => tell('gc'),
    allocate: (mb) => tell(`allocate ${mb}`),
    keep: (mb) => tell(`keep ${mb}`),
    forget: () => tell('forget'),
    loadClasses: (n) => tell(`load ${n}`),
    dropClasses: () => tell('drop'),
    kill: (signal) => program.kill(signal),
    stop: () => program.stop(),
  };
}

/** One question, one answer, over the standard streams of the JVM. */
class TruthProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #answers: string[] = [];
  #take: ((line: string) => void) | undefined;
  #stderr = '';

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#exited = once(child, 'exit');
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-4_000);
    });
    // The JVM may be killed between a question and its answer, which the answer's rejection tells.
    child.stdin?.on('error', () => undefined);
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => this.#onLine(line));
  }

  #onLine(line: string): void {
    // The JVM's own warnings go to standard output, too.
    if (!line.startsWith('{')) return;
    if (this.#take === undefined) this.#answers.push(line);
    else this.#take(line);
    this.#take = undefined;
  }

  async ask(line: string): Promise<unknown> {
    this.#child.stdin?.write(`${line}\n`);
    return this.answer();
  }

  /** One at a time. */
  async answer(): Promise<unknown> {
    let timer: NodeJS.Timeout | undefined;
    const line = await Promise.race([
      this.#answers.shift() ?? new Promise<string>((resolve) => (this.#take = resolve)),
      this.#exited.then(() => undefined),
      new Promise<undefined>((resolve) => {
        timer = setTimeout(() => resolve(undefined), ANSWER_TIMEOUT_MS);
      }),
    ]);
    clearTimeout(timer);
    if (line === undefined) throw new Error(`the JVM ended, or did not answer: ${this.#stderr}`);
    const answer = JSON.parse(line) as Record<string, unknown>;
    if (answer.error !== undefined) throw new Error(String(answer.error));
    return answer;
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    this.#child.kill(signal);
    if (signal === 'SIGKILL' || signal === 'SIGTERM') await this.#exited;
    // A signal is taken some time after it was sent, and much later where the processors are busy.
    else if (signal === 'SIGSTOP') await this.#untilStopped(true);
    else if (signal === 'SIGCONT') await this.#untilStopped(false);
  }

  async #untilStopped(isWanted: boolean): Promise<void> {
    const deadline = performance.now() + ANSWER_TIMEOUT_MS;
    while (isStopped(this.#child.pid) !== isWanted) {
      if (performance.now() > deadline) throw new Error(`the JVM did not ${isWanted ? 'stand still' : 'go on'}`);
      await delay(POLL_MS);
    }
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.stdin?.end();
    const kill = setTimeout(() => this.#child.kill('SIGKILL'), ANSWER_TIMEOUT_MS);
    await this.#exited;
    clearTimeout(kill);
  }
}

/** Whether every thread stands still: the first one alone may do so while others still run. */
function isStopped(pid: number | undefined): boolean {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).every((task) => stateOf(`${tasks}/${task}/stat`) === 'T');
}

/** The letter behind the name, which is in brackets and may hold any character. */
function stateOf(statPath: string): string | undefined {
  try {
    const stat = readFileSync(statPath, 'utf8');
    return stat[stat.lastIndexOf(')') + 2];
  } catch {
    // A thread that has just ended.
    return undefined;
  }
}
