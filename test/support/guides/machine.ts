/**
 * A fresh machine (machine.sh): systemd is its first process, and it has this machine's programs. It has a network of its own, so that
 * programs use their usual ports. Halting it drops all its changes.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { plainEnv, type Ran } from '../install/run.ts';
import { Terminal } from './terminal.ts';

const BOOT_TIMEOUT_MS = 60_000;
const POLL_MS = 50;
/** The project's folder in the machine. */
const CHECKOUT = '/root/d2-sidecar';
const PROGRAMS = [
  'unshare',
  'nsenter',
  'setpriv',
  'findmnt',
  'ps',
  'ip',
  'curl',
  'java',
  'apt',
  'systemctl',
  'prometheus',
];
const ENVIRONMENT = [
  'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  'LANG=C.UTF-8',
  'DEBIAN_FRONTEND=noninteractive',
];

/** Why no such machine can run here; undefined if one can. */
export function whyNot(): string | undefined {
  if (process.getuid?.() !== 0) return 'they need root';
  const missing = PROGRAMS.find((program) => spawnSync('which', [program]).status !== 0);
  if (missing !== undefined) return `there is no ${missing}`;
  return existsSync('/usr/libexec/tomcat10') ? undefined : "there is no Debian package 'tomcat10'";
}

/** A program that runs until it is stopped. */
export interface Foreground {
  /** Sends Ctrl-C; returns the exit code. */
  interrupt(): Promise<number | null>;
}

export class Machine {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'd2s-machine-'));
  readonly #keeper: ChildProcess;
  #init = '';

  /** `checkout`: a copy of the project, which commands may change. */
  static async boot(checkout: string): Promise<Machine> {
    const machine = new Machine(checkout);
    try {
      await machine.#booted();
      return machine;
    } catch (error) {
      await machine.halt();
      throw error;
    }
  }

  private constructor(checkout: string) {
    const script = path.join(import.meta.dirname, 'machine.sh');
    this.#keeper = spawn('bash', [script, this.#folder, checkout], { env: plainEnv() });
  }

  async #booted(): Promise<void> {
    const { stdout, stderr } = this.#keeper;
    if (stdout === null || stderr === null) throw new Error('no pipes');
    let told = '';
    stderr.setEncoding('utf8').on('data', (text: string) => {
      told += text;
    });
    const ended = once(this.#keeper, 'exit').then(() => '');
    this.#init = await Promise.race([once(createInterface({ input: stdout }), 'line').then(String), ended]);
    if (this.#init === '') throw new Error(`the machine did not start: ${told}`);
    for (const deadline = performance.now() + BOOT_TIMEOUT_MS; ; ) {
      const state = (await this.#systemState()).trim();
      // Degraded: some service of this machine failed that no guide needs.
      if (state === 'running' || state === 'degraded') return;
      if (this.#keeper.exitCode !== null || performance.now() > deadline)
        throw new Error(`the machine did not start (${state}): ${told}${await this.logOf()}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  async #systemState(): Promise<string> {
    return (await this.run('systemctl is-system-running')).stdout;
  }

  #enter(words: readonly string[], user = 'root'): ChildProcess {
    const as = user === 'root' ? [] : ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--init-groups', '--'];
    const home = user === 'root' ? 'HOME=/root' : 'HOME=/';
    const command = [...as, 'env', '-i', ...ENVIRONMENT, home, ...words];
    return spawn('nsenter', ['--target', this.#init, '--all', '--', ...command]);
  }

  /** Runs a line of bash as root in a new shell, in the checkout, to its end. */
  async run(line: string, input = ''): Promise<Ran> {
    const child = this.#enter(['bash', '-c', `cd ${CHECKOUT} 2> /dev/null; ${line}`]);
    const texts = [child.stdout, child.stderr].map((stream) => collect(stream));
    child.stdin?.on('error', () => undefined).end(input);
    const [code] = (await once(child, 'close')) as [number | null];
    const [stdout = '', stderr = ''] = texts.map((text) => text());
    return { code, stdout, stderr };
  }

  /** The same; rejects unless it ends with 0. Returns the output. */
  async succeed(line: string, input = ''): Promise<string> {
    const { code, stdout, stderr } = await this.run(line, input);
    if (code !== 0) throw new Error(`${line}: exit code ${code}: ${stdout}${stderr}`);
    return stdout;
  }

  async read(file: string): Promise<string> {
    return await this.succeed(`cat '${file}'`);
  }

  /** Like an editor: an existing file keeps its owner and mode. */
  async write(file: string, text: string): Promise<void> {
    await this.succeed(`mkdir -p "$(dirname '${file}')" && cat > '${file}'`, text);
  }

  /** A root shell that runs until the end. */
  openTerminal(): Terminal {
    return new Terminal(this.#enter(['bash']), CHECKOUT);
  }

  /** Starts a sidecar as a user of the machine, and waits until it serves. */
  async startSidecar(line: string, user: string): Promise<Foreground> {
    const child = this.#enter(['bash', '-c', `cd /; exec ${line}`], user);
    const exited = once(child, 'exit').then(([code]) => code as number | null);
    const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
    await new Promise<void>((resolve, reject) => {
      child.stdout?.on('data', () => /"msg":"listening"/.test(stdout()) && resolve());
      exited.then((code) => reject(new Error(`${line}: exit code ${code}: ${stdout()}${stderr()}`)), reject);
    });
    const pid = /"pid":(\d+)/.exec(stdout())?.[1];
    return {
      interrupt: async () => {
        await this.succeed(`kill -INT ${pid}`);
        return await exited;
      },
    };
  }

  /** The last log lines of a service, or of the whole machine. */
  async logOf(service?: string): Promise<string> {
    const of = service === undefined ? '' : `--unit ${service}`;
    return (await this.run(`journalctl --no-pager --output cat --lines 20 ${of}`)).stdout;
  }

  async halt(): Promise<void> {
    if (this.#keeper.exitCode === null) {
      const exited = once(this.#keeper, 'exit');
      this.#keeper.stdin?.end();
      await exited;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  let text = '';
  stream?.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  return () => text;
}
