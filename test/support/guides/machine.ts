/** A fresh machine (machine.sh): systemd is its first process, and it has this machine's programs. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { type Defer, temporaryFolder } from '../deferred.ts';
import { collect, plainEnv, type Ran } from '../install/run.ts';

const BOOT_TIMEOUT_MS = 60_000;
const POLL_MS = 50;
const CHECKOUT = '/root/d2-sidecar';
const PROGRAMS = 'unshare nsenter setpriv findmnt ps ip curl java apt systemctl prometheus'.split(' ');
const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const ENVIRONMENT = [PATH, 'LANG=C.UTF-8', 'DEBIAN_FRONTEND=noninteractive'];

export function canBoot(): boolean {
  const hasPrograms = PROGRAMS.every((program) => spawnSync('which', [program]).status === 0);
  return process.getuid?.() === 0 && hasPrograms && existsSync('/usr/libexec/tomcat10');
}

export class Machine {
  readonly #keeper: ChildProcess;
  #init = '';

  /** `checkout`: a copy of the project, which commands may change. */
  static async boot(defer: Defer, checkout: string): Promise<Machine> {
    const machine = new Machine(temporaryFolder(defer), checkout);
    defer(() => machine.#halt());
    await machine.#booted();
    return machine;
  }

  private constructor(folder: string, checkout: string) {
    const script = path.join(import.meta.dirname, 'machine.sh');
    this.#keeper = spawn('bash', [script, folder, checkout], { env: plainEnv() });
  }

  async #booted(): Promise<void> {
    const { stdout, stderr } = this.#keeper;
    if (stdout === null || stderr === null) throw new Error('no pipes');
    const told = collect(stderr);
    const ended = once(this.#keeper, 'exit').then(() => '');
    this.#init = await Promise.race([once(createInterface({ input: stdout }), 'line').then(String), ended]);
    if (this.#init === '') throw new Error(`the machine did not start: ${told()}`);
    for (const deadline = performance.now() + BOOT_TIMEOUT_MS; ; ) {
      const state = (await this.run('systemctl is-system-running')).stdout.trim();
      // Degraded: some service of this machine failed that no guide needs.
      if (state === 'running' || state === 'degraded') return;
      if (this.#keeper.exitCode !== null || performance.now() > deadline)
        throw new Error(`the machine did not start (${state}): ${told()}${await this.logOf()}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  /** Runs a line of bash in a new shell to its end. */
  async run(line: string, input = '', user = 'root', folder = CHECKOUT): Promise<Ran> {
    const as = user === 'root' ? [] : ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--init-groups', '--'];
    const home = user === 'root' ? 'HOME=/root' : 'HOME=/';
    const words = [...as, 'env', '-i', ...ENVIRONMENT, home, 'bash', '-c', `cd ${folder} 2> /dev/null; ${line}`];
    const child = spawn('nsenter', ['--target', this.#init, '--all', '--', ...words]);
    const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
    child.stdin.on('error', () => undefined).end(input);
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, stdout: stdout(), stderr: stderr() };
  }

  /** The same as root; rejects unless it ends with 0. Returns the output. */
  async succeed(line: string, input = ''): Promise<string> {
    const { code, stdout, stderr } = await this.run(line, input);
    if (code !== 0) throw new Error(`${line}: exit code ${code}: ${stdout}${stderr}`);
    return stdout;
  }

  /** Like an editor: an existing file keeps its owner and mode. */
  async write(file: string, text: string): Promise<void> {
    await this.succeed(`mkdir -p "$(dirname '${file}')" && cat > '${file}'`, text);
  }

  async logOf(service?: string): Promise<string> {
    const of = service === undefined ? '' : `--unit ${service}`;
    return (await this.run(`journalctl --no-pager --output cat --lines 20 ${of}`)).stdout;
  }

  async #halt(): Promise<void> {
    if (this.#keeper.exitCode !== null) return;
    const exited = once(this.#keeper, 'exit');
    this.#keeper.stdin?.end();
    await exited;
  }
}
