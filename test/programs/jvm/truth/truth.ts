/**
 * Real JVMs: which are installed, and which collectors each has. Truth.java runs in one of them: it executes commands
 * and prints its own MXBeans.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { type Defer, temporaryFolder } from '../../../support/deferred.ts';
import { succeed } from '../../../support/install/run.ts';
import type { Beans } from '../../../support/jvm/truth/beans.ts';
import { isAvailable } from '../../../support/programs.ts';
import { exitOf } from '../../../support/sidecar-process.ts';

const FOLDERS = ['/usr/lib/jvm', '/opt/java', '/opt/hostedtoolcache/Java_Temurin-Hotspot_jdk'];
/** The oldest JVM that the project supports: classes for it run on all of them. */
const CLASS_FILE_RELEASE = '17';
const ANSWER_TIMEOUT_MS = 15_000;

export interface Jvm {
  readonly home: string;
  readonly major: number;
}

/** `z` and `shenandoah` are without generations. */
export type Collector =
  | 'serial'
  | 'parallel'
  | 'g1'
  | 'z'
  | 'z-generational'
  | 'shenandoah'
  | 'shenandoah-generational';

function optionsOf({ major }: Jvm): Partial<Record<Collector, readonly string[]>> {
  const shenandoah = '-XX:+UseShenandoahGC';
  return {
    serial: ['-XX:+UseSerialGC'],
    parallel: ['-XX:+UseParallelGC'],
    g1: ['-XX:+UseG1GC'],
    // From 24 on ZGC is always generational, and the option for it is accepted without effect.
    ...(major < 24
      ? { z: ['-XX:+UseZGC'], 'z-generational': ['-XX:+UseZGC', '-XX:+ZGenerational'] }
      : { 'z-generational': ['-XX:+UseZGC'] }),
    shenandoah: [shenandoah],
    'shenandoah-generational': ['-XX:+UnlockExperimentalVMOptions', shenandoah, '-XX:ShenandoahGCMode=generational'],
  };
}

/** All JVMs of this machine by version, each once even if several links lead to it. */
function installedJvms(): Jvm[] {
  const homes = FOLDERS.filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).map((name) => path.join(folder, name)))
    .filter((home) => existsSync(path.join(home, 'bin/java')));
  return [...new Set(homes.map((home) => realpathSync(home)))]
    .map((home) => ({ home, major: majorOf(home) }))
    .sort((a, b) => a.major - b.major || a.home.localeCompare(b.home));
}

function majorOf(home: string): number {
  // `JAVA_VERSION="17.0.15"`; every JDK and JRE since 9 has the file.
  const version = /^JAVA_VERSION="(\d+)/m.exec(readFileSync(path.join(home, 'release'), 'utf8'))?.[1];
  if (version === undefined) throw new Error(`${home}/release has no JAVA_VERSION`);
  return Number(version);
}

const found = installedJvms();
const compiler = found.map(({ home }) => path.join(home, 'bin/javac')).find((javac) => existsSync(javac));
export const hasJdk = isAvailable('a JDK', compiler !== undefined);
/** Empty without a compiler. */
export const JVMS: readonly Jvm[] = hasJdk ? found : [];

/**
 * The collectors with which this JVM really starts. The list of its flags is not enough: a build without a collector
 * still has its flag.
 */
export async function collectorsOf(jvm: Jvm): Promise<Collector[]> {
  const all = Object.entries(optionsOf(jvm)) as [Collector, readonly string[]][];
  const starts = all.map(([collector, options]) =>
    succeed(path.join(jvm.home, 'bin/java'), [...options, '-Xmx96m', '-version']).then(
      () => [collector],
      () => [],
    ),
  );
  return (await Promise.all(starts)).flat();
}

/** Compiles Truth.java; returns the class path, which every user can read. */
export async function compileTruth(defer: Defer): Promise<string> {
  const classPath = temporaryFolder(defer);
  chmodSync(classPath, 0o755);
  const sources = ['Truth.java', 'Bootstrap.java'].map((name) => path.join(import.meta.dirname, name));
  await succeed(compiler ?? 'javac', ['--release', CLASS_FILE_RELEASE, '-d', classPath, ...sources]);
  return classPath;
}

export interface TruthOptions {
  readonly jvm: Jvm;
  readonly classPath: string;
  /** Default: serial. */
  readonly collector?: Collector | undefined;
  /** Further options of the JVM. Default: 32 MB of heap that may grow to 96 MB. */
  readonly options?: readonly string[];
  /** Default: a free one. */
  readonly port?: number;
  /** Arguments after the port of a program with the name of Tomcat, e.g. `start`. */
  readonly tomcat?: readonly string[];
  /** Default: as the test. */
  readonly uid?: number;
  readonly gid?: number;
  readonly wrapper?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

/** Starts Truth.java and waits for its port. Rejects with its output if it ends first. */
export async function startTruth(defer: Defer, options: TruthOptions): Promise<Truth> {
  const truth = new Truth(defer, options);
  await truth.ready();
  return truth;
}

/** One question, one answer, over the standard streams of the JVM. */
export class Truth {
  readonly pid: number;
  /** A TCP port on loopback on which it listens. */
  port = 0;
  output = '';
  readonly exited: Promise<number>;
  readonly #child: ChildProcess;
  readonly #answers: string[] = [];
  #take: ((line: string) => void) | undefined;
  #stderr = '';

  constructor(defer: Defer, options: TruthOptions) {
    const { jvm, collector = 'serial', classPath, port = 0, tomcat, wrapper = [], env, ...ids } = options;
    const choice = optionsOf(jvm)[collector];
    if (choice === undefined) throw new Error(`JDK ${jvm.major} has no collector ${collector}`);
    const main = tomcat === undefined ? 'Truth' : 'org.apache.catalina.startup.Bootstrap';
    const flags = [...choice, ...(options.options ?? ['-Xms32m', '-Xmx96m']), '-cp', classPath];
    const java = [path.join(jvm.home, 'bin/java'), ...flags, main, String(port), ...(tomcat ?? [])];
    const [program = '', ...words] = [...wrapper, ...java];
    this.#child = spawn(program, words, {
      stdio: ['pipe', 'pipe', 'pipe'],
      // A JVM adds these to its options and says so on standard error.
      env: { ...process.env, JAVA_TOOL_OPTIONS: undefined, JDK_JAVA_OPTIONS: undefined, ...env },
      ...ids,
    });
    this.pid = this.#child.pid ?? 0;
    this.exited = exitOf(this.#child);
    defer(() => this.#stop());
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-4_000);
    });
    // The JVM may be killed between a question and its answer; the answer then rejects.
    this.#child.stdin?.on('error', () => undefined);
    createInterface({ input: this.#child.stdout! }).on('line', (line) => this.#onLine(line));
  }

  async ready(): Promise<void> {
    ({ port: this.port } = (await this.#answer()) as { port: number });
  }

  #onLine(line: string): void {
    this.output += `${line}\n`;
    // The JVM's own warnings and dumps go to standard output, too.
    if (!line.startsWith('{')) return;
    if (this.#take === undefined) this.#answers.push(line);
    else this.#take(line);
    this.#take = undefined;
  }

  /** Tells it to `gc`, `allocate 3` (MB of garbage), `keep 3` (MB), `load 60` (classes), `drop` (them) or `close` (its port). */
  async tell(line: string): Promise<unknown> {
    this.#child.stdin?.write(`${line}\n`);
    return await this.#answer();
  }

  async beans(): Promise<Beans> {
    return (await this.tell('beans')) as Beans;
  }

  async #answer(): Promise<unknown> {
    const late = new AbortController();
    const line = await Promise.race([
      this.#answers.shift() ?? new Promise<string>((resolve) => (this.#take = resolve)),
      this.exited.then(() => undefined),
      delay(ANSWER_TIMEOUT_MS, undefined, late).catch(() => undefined),
    ]);
    late.abort();
    if (line === undefined) throw new Error(`the JVM ended, or did not answer: ${this.#stderr}`);
    const answer = JSON.parse(line) as Record<string, unknown>;
    if (answer.error !== undefined) throw new Error(String(answer.error));
    return answer;
  }

  /** Sends the signal and waits until the kernel shows its effect: ended, stopped, or continued. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    this.#child.kill(signal);
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') {
      await this.exited;
      return;
    }
    // A signal takes effect after some time, and much later on a busy machine.
    const deadline = performance.now() + ANSWER_TIMEOUT_MS;
    while (isStopped(this.pid) !== (signal === 'SIGSTOP')) {
      if (performance.now() > deadline) throw new Error(`the JVM did not heed ${signal}`);
      await delay(5);
    }
  }

  /** Ends it in order by closing its input, otherwise by SIGKILL. */
  async #stop(): Promise<void> {
    this.#child.stdin?.end();
    const kill = setTimeout(() => this.#child.kill('SIGKILL'), ANSWER_TIMEOUT_MS);
    await this.exited;
    clearTimeout(kill);
    // Nothing else removes the attach socket after SIGKILL.
    rmSync(`/tmp/.java_pid${this.pid}`, { force: true });
  }
}

/** Whether every thread has stopped: the first one may stop while others still run. */
export function isStopped(pid: number): boolean {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).every((task) => {
    try {
      // The letter after the name, which is in brackets and may contain any character.
      const stat = readFileSync(`${tasks}/${task}/stat`, 'utf8');
      return stat[stat.lastIndexOf(')') + 2] === 'T';
    } catch {
      // A thread that has just ended.
      return false;
    }
  });
}
