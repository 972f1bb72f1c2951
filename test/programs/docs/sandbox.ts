/**
 * Runs the commands of a document: a folder that looks like the checkout, ports of its own instead of 8080, 8081 and 9280, a real
 * sidecar with real traffic, and paths such as /etc/d2-sidecar below the folder.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { vi } from 'vitest';
import { SampleControlSystem } from '../../../src/demo/control-system.ts';
import { createAuthFields, SAMPLE_ACCOUNTS, SAMPLE_OBJECTS, SAMPLE_RPCS } from '../../../src/demo/plant.ts';
import { collect, plainEnv, type Ran, ROOT } from '../../support/install/run.ts';
import { type Application, restCall, startApplication, toUnusedPort } from '../../support/net.ts';
import { MAIN_PATH, stopProcess } from '../../support/sidecar-process.ts';

const COMMAND_TIMEOUT_MS = 60_000;
const WAIT = { timeout: 60_000, interval: 50 };
/** Not the path of a URL: that has a host before it. */
const ABSOLUTE_PATH = /(?<![\w.:/\])}*-])\/[\w.-][\w./-]*/g;
const DEVICES = ['/dev/null', '/dev/stdin', '/dev/stdout', '/dev/stderr'];
const CURL_OPTIONS = 'silent\nshow-error\nmax-time = 30\n';
const JVM_FIXTURE = path.join(ROOT, 'test/fixtures/jvm/http/prometheus/client-java-1.txt');
/** The answer to prompts of a terminal. */
const TYPED = 'correct horse battery staple\n';

export class Sandbox {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'd2s-docs-'));
  readonly #system = new SampleControlSystem({ slowness: 0 });
  /** Replaces the JVM, whose numbers this machine may not have. */
  #jvm: Application | undefined;
  #ports = { upstream: 0, listen: 0, monitor: 0 };
  #server: { readonly child: ChildProcess; readonly exited: Promise<number>; stderr(): string } | undefined;

  async prepare(): Promise<void> {
    this.#jvm = await startApplication((_, response) => response.end(readFileSync(JVM_FIXTURE)));
    // First the port that stays taken: an unused one could become it.
    const upstream = await this.#system.start(0);
    this.#ports = { upstream, listen: await toUnusedPort(), monitor: await toUnusedPort() };
    for (const name of ['dist', 'docs', 'package.json', 'src', 'test', 'node_modules'])
      symlinkSync(path.join(ROOT, name), path.join(this.#folder, name));
    cpSync(path.join(ROOT, 'config'), path.join(this.#folder, 'config'), { recursive: true });
    for (const name of ['bin', 'etc/d2-sidecar', 'run/d2-sidecar', 'var/lib/d2-sidecar', 'var/log/d2-sidecar', 'tmp'])
      mkdirSync(path.join(this.#folder, name), { recursive: true, mode: 0o700 });
    const program = `#!/bin/sh\nexec '${process.execPath}' '${MAIN_PATH}' "$@"\n`;
    writeFileSync(path.join(this.#folder, 'bin/d2-sidecar'), program, { mode: 0o755 });
    writeFileSync(path.join(this.#folder, '.curlrc'), CURL_OPTIONS);
    writeFileSync(path.join(this.#folder, 'bin/.curlrc'), `${CURL_OPTIONS}fail\n`);
    const configuration = this.#adapt(readFileSync(path.join(ROOT, 'config/sidecar.yaml'), 'utf8'));
    for (const name of ['etc/d2-sidecar/sidecar.yaml', 'sidecar.yaml'])
      writeFileSync(path.join(this.#folder, name), configuration);
    writeFileSync(path.join(this.#folder, 'password.txt'), TYPED);
  }

  /** Runs a line to its end, by bash. Throws, without running it, if it names a path of this machine: it might write there. */
  async run(line: string): Promise<Ran> {
    const outside = this.#adapt(line)
      .match(ABSOLUTE_PATH)
      ?.find((found) => !found.startsWith(this.#folder) && !DEVICES.includes(found));
    if (outside !== undefined)
      throw new Error(`${line}: ${outside} is outside of the sandbox; such a command is not to be run here`);
    const child = this.#spawn(line);
    const stdout = collect(child.stdout);
    const stderr = collect(child.stderr);
    child.stdin?.on('error', () => undefined).end(TYPED);
    const timer = setTimeout(() => child.kill('SIGKILL'), COMMAND_TIMEOUT_MS);
    const [code] = (await once(child, 'close')) as [number | null];
    clearTimeout(timer);
    return { code, stdout: stdout(), stderr: stderr() };
  }

  get isServing(): boolean {
    return this.#server !== undefined;
  }

  /** Starts a program that keeps running, and waits until its monitoring port answers and some calls have passed. */
  async serve(line: string): Promise<void> {
    await this.stop();
    const child = this.#spawn(`exec ${line}`);
    const stderr = collect(child.stderr);
    child.stdout?.resume();
    child.stdin?.end();
    const exited = once(child, 'exit').then(([code]) => (code as number | null) ?? 128);
    this.#server = { child, exited, stderr };
    const isStarted = async () => child.exitCode !== null || (await this.#isThere('/startupz'));
    await vi.waitUntil(isStarted, WAIT);
    if (child.exitCode !== null) throw new Error(`${line}: exit code ${child.exitCode}: ${stderr()}`);
    await this.#call();
    // The first reading of the JVM begins at the start, and may still be in progress.
    await vi.waitUntil(() => this.#isThere('/smartWeb/api/rest/v0/admin/metrics/jvm'), WAIT);
  }

  /** Ends the started program; returns its exit code, or undefined without one. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | undefined> {
    const server = this.#server;
    this.#server = undefined;
    return server && (await stopProcess(server.child, server.exited, signal));
  }

  async close(): Promise<void> {
    await this.stop('SIGKILL');
    await this.#system.stop();
    this.#jvm?.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #spawn(line: string): ChildProcess {
    const env = Object.fromEntries(Object.entries(plainEnv()).filter(([name]) => !/_proxy$/i.test(name)));
    return spawn('bash', ['--norc', '-o', 'pipefail', '-c', this.#adapt(line)], {
      cwd: this.#folder,
      env: {
        ...env,
        PATH: `${path.join(this.#folder, 'bin')}:${path.dirname(process.execPath)}:${env.PATH ?? ''}`,
        HOME: this.#folder,
        // An error from the sidecar itself fails the command; the application's own answers do not matter.
        CURL_HOME: line.includes('9280') ? path.join(this.#folder, 'bin') : this.#folder,
        TMPDIR: path.join(this.#folder, 'tmp'),
        D2_SIDECAR_LISTEN_PORT: String(this.#ports.listen),
        D2_SIDECAR_MONITOR_PORT: String(this.#ports.monitor),
        D2_SIDECAR_CONTROL_SOCKET: path.join(this.#folder, 'run/d2-sidecar/control.sock'),
        D2_SIDECAR_STOP_DELAY: '0',
        D2_SIDECAR_STOP_WINDOW: '0',
        D2_SIDECAR_JVM_HTTP_KIND: 'prometheus',
        D2_SIDECAR_JVM_HTTP_URL: `http://127.0.0.1:${this.#jvm?.port}/metrics`,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  }

  /** Replaces the document's ports, hosts and folders by those of the sandbox. */
  #adapt(text: string): string {
    const { upstream, listen, monitor } = this.#ports;
    return text
      .replace(/(https?:\/\/)(?:[\w-]+\.)*(?:server|host|example)(?=:\d)/g, '$1127.0.0.1')
      .replace(/\b8080\b/g, String(upstream))
      .replace(/\b8081\b/g, String(listen))
      .replace(/\b9280\b/g, String(monitor))
      .replace(/(?<![\w./])\/(?:etc|run|var\/lib|var\/log)\/d2-sidecar\b/g, (found) => path.join(this.#folder, found));
  }

  async #isThere(target: string): Promise<boolean> {
    const answer = await fetch(`http://127.0.0.1:${this.#ports.monitor}${target}`).catch(() => undefined);
    await answer?.text();
    return answer?.status === 200;
  }

  /** Some calls of some users, so that there are numbers. */
  async #call(): Promise<void> {
    const [account = { kind: 'key', user: '', key: '' }] = SAMPLE_ACCOUNTS;
    const headers = createAuthFields(account);
    const objects = SAMPLE_OBJECTS.map((name) => `object/${encodeURIComponent(name)}`);
    for (const path of [...SAMPLE_RPCS.map((rpc) => `rpc/${rpc.path}`), ...objects])
      await restCall(this.#ports.listen, path, undefined, { headers });
  }
}
