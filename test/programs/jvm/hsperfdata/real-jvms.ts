/** Starts real JVMs, apart from all others on the machine. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Listens on a port of 127.0.0.1 (argument 1, 0 for any) and prints it; `close` stops listening, the input's end ends it. */
const PROGRAM = `
package org.apache.catalina.startup;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
public class Bootstrap {
  public static void main(String[] arguments) throws Exception {
    ServerSocket socket = new ServerSocket(Integer.parseInt(arguments[0]), 50, InetAddress.getByName("127.0.0.1"));
    System.out.println("port " + socket.getLocalPort());
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      if (line.equals("close")) socket.close();
      if (line.equals("gc")) System.gc();
      System.out.println("did " + line);
    }
  }
}
`;

/** Homes of JDKs that can compile, e.g. `/usr/lib/jvm/java-17-openjdk-amd64`, each once. */
export const JDKS: readonly string[] = findJdks();

function findJdks(): string[] {
  const homes = new Map<string, string>();
  const directories = ['/usr/lib/jvm', '/opt/java', '/opt/hostedtoolcache/Java_Temurin-Hotspot_jdk'].filter((path) =>
    existsSync(path),
  );
  const candidates = directories.flatMap((path) => readdirSync(path).map((name) => join(path, name)));
  for (const home of [...candidates, process.env.JAVA_HOME ?? '']) {
    if (!existsSync(join(home, 'bin/javac')) || !existsSync(join(home, 'release'))) continue;
    // One directory may be a link to another: the version tells.
    const version = /JAVA_VERSION="([^"]+)"/.exec(readFileSync(join(home, 'release'), 'utf8'))?.[1] ?? home;
    homes.set(version, home);
  }
  return [...homes].sort(([a], [b]) => Number.parseInt(a, 10) - Number.parseInt(b, 10)).map(([, home]) => home);
}

/** Compiles the program; returns a new directory with its classes. */
export function compile(jdk: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'd2s-classes-'));
  chmodSync(directory, 0o755);
  writeFileSync(join(directory, 'Bootstrap.java'), PROGRAM);
  execFileSync(join(jdk, 'bin/javac'), ['-d', directory, join(directory, 'Bootstrap.java')]);
  return directory;
}

export interface StartOptions {
  readonly port?: number;
  readonly flags?: readonly string[];
  /** Behind the port; `start` makes it look like a Tomcat. */
  readonly arguments?: readonly string[];
  readonly uid?: number;
  readonly gid?: number;
  /** What to start it with, e.g. unshare and its options. */
  readonly wrapper?: readonly string[];
}

export interface RealJvm {
  readonly pid: number;
  readonly port: number;
  readonly child: ChildProcess;
  /** Sends a line and waits for its answer. */
  tell(line: string): Promise<void>;
  /** Ends it with the signal, and waits for that. */
  end(signal: NodeJS.Signals): Promise<void>;
}

export class JvmLab {
  readonly #jvms: RealJvm[] = [];
  readonly #classes: string;
  readonly directory = mkdtempSync(join(tmpdir(), 'd2s-jvm-'));
  /** A /proc with only those processes that were shown. */
  readonly procPath = join(this.directory, 'proc');
  /** A /tmp with only those counters files that were shown. */
  readonly tmpPath = join(this.directory, 'tmp');

  constructor(classes: string) {
    this.#classes = classes;
    chmodSync(this.directory, 0o755);
    mkdirSync(this.tmpPath);
    mkdirSync(join(this.procPath, 'self'), { recursive: true });
    for (const name of ['status', 'stat']) cpSync(`/proc/self/${name}`, join(this.procPath, 'self', name));
    for (const name of ['net', 'locks', 'stat']) symlinkSync(`/proc/${name}`, join(this.procPath, name));
  }

  async start(jdk: string, options: StartOptions = {}): Promise<RealJvm> {
    const { port = 0, flags = [], wrapper = [], uid, gid } = options;
    const java = [
      join(jdk, 'bin/java'),
      '-Xms16m',
      '-Xmx64m',
      '-XX:TieredStopAtLevel=1',
      ...flags,
      '-cp',
      this.#classes,
    ];
    const [command = '', ...rest] = [
      ...wrapper,
      ...java,
      'org.apache.catalina.startup.Bootstrap',
      String(port),
      ...(options.arguments ?? []),
    ];
    const ids = uid === undefined ? {} : { uid, gid: gid ?? uid };
    const child = spawn(command, rest, { stdio: ['pipe', 'pipe', 'ignore'], cwd: '/', ...ids });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const first = await lines.next();
    const jvm: RealJvm = {
      child,
      pid: child.pid ?? 0,
      port: Number(String(first.value).replace('port ', '')),
      tell: async (line) => {
        child.stdin.write(`${line}\n`);
        await lines.next();
      },
      end: async (signal) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = once(child, 'exit');
        child.kill(signal);
        await ended;
      },
    };
    this.#jvms.push(jvm);
    if (!(jvm.port > 0)) throw new Error(`no port from ${command} ${rest.join(' ')}`);
    return jvm;
  }

  showProcess({ pid }: RealJvm): void {
    symlinkSync(`/proc/${pid}`, join(this.procPath, String(pid)));
  }

  hideProcess({ pid }: RealJvm): void {
    rmSync(join(this.procPath, String(pid)));
  }

  /** A second name for the JVM's own file: the first is removed by whichever JVM of that user starts next. */
  showFile({ pid }: RealJvm, user: string): string {
    const directory = join(this.tmpPath, `hsperfdata_${user}`);
    mkdirSync(directory, { recursive: true });
    const path = join(directory, String(pid));
    linkSync(`/tmp/hsperfdata_${user}/${pid}`, path);
    return path;
  }

  async close(): Promise<void> {
    await Promise.all(this.#jvms.map((jvm) => jvm.end('SIGKILL')));
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Runs something with the rights of another user; only root can. */
export async function asUser<T>(uid: number, gid: number, action: () => Promise<T>): Promise<T> {
  const groups = process.getgroups?.() ?? [];
  process.setgroups?.([]);
  process.setegid?.(gid);
  process.seteuid?.(uid);
  try {
    return await action();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
    process.setgroups?.(groups);
  }
}
