/** A real sidecar: `dist/main.js` as a process, known only by its output and answers. `npm test` builds dist/ before. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Verdict, VerdictRule } from '../../src/page/live-data.ts';
import { type Defer, temporaryFolder } from './deferred.ts';
import { RUNTIME_WARNING, withoutRuntimeWarning } from './runtime-warning.ts';

/** One parsed log line, e.g. `{ level: 'info', time: '2026-01-01T00:00:00.000Z', msg: 'listening', listen: '127.0.0.1:8081' }`. */
export type LogLine = Readonly<Record<string, unknown>>;

export type SidecarProcess = Awaited<ReturnType<typeof startSidecarProcess>>;

export const MAIN_PATH = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

const START_TIMEOUT_MS = 15_000;
const STOP_TIMEOUT_MS = 10_000;

/** Flags for an application on that port of 127.0.0.1, and free ports for the sidecar. */
export function flagsFor(upstreamPort: number): readonly string[] {
  const free = '127.0.0.1:0';
  return ['--upstream', `http://127.0.0.1:${upstreamPort}/smartWeb`, '--listen', free, '--monitor', free];
}

/**
 * Starts `node dist/main.js <args>` and waits for its `listening` line. `flagsFor` has flags with free ports. Rejects with the
 * output so far when the process ends, or says nothing for 15 s. `command` runs the program, in the same process.
 */
export async function startSidecarProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  command: readonly string[] = [process.execPath],
) {
  if (!existsSync(MAIN_PATH)) throw new Error('dist/main.js is missing: `npm run build` first');
  const [program = process.execPath, ...before] = command;
  const child = spawn(program, [...before, MAIN_PATH, ...args], {
    // Tests have no load balancer, so no delay before the drain is needed.
    env: { ...process.env, D2_SIDECAR_STOP_DELAY: '0', D2_SIDECAR_STOP_WINDOW: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  /** All JSON lines printed so far, without the warning about this Node.js. */
  const logs: LogLine[] = [];
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exited = exitOf(child);
  /** SIGKILL follows after 10 s. Calling it twice is harmless. */
  const stop = (signal: NodeJS.Signals = 'SIGTERM') => stopProcess(child, exited, signal);
  try {
    const line = await listeningLine(child, logs, exited);
    /** For clients and for readers, `host:port`. */
    const [listen, monitor] = [String(line.listen), String(line.monitor)];
    return { listen, monitor, pid: child.pid as number, logs, stderr: () => stderr, exited, stop };
  } catch (cause) {
    await stop('SIGKILL');
    throw new Error(`the sidecar did not start: ${String(cause)}\n${JSON.stringify(logs)}\n${stderr}`, { cause });
  }
}

/** A sidecar before the application at that port of 127.0.0.1, which does not look for a JVM. `defer` kills it, if given. */
export async function startSidecarBefore(
  upstreamPort: number,
  env: Readonly<Record<string, string>> = {},
  args: readonly string[] = [],
  defer?: Defer,
): Promise<SidecarProcess> {
  const flags = [...flagsFor(upstreamPort), ...args];
  const sidecar = await startSidecarProcess(flags, { D2_SIDECAR_JVM_SOURCE: 'none', ...env });
  defer?.(() => sidecar.stop('SIGKILL'));
  return sidecar;
}

/** A sidecar of the build on free ports, with a file of configuration, before the application at `url`. `command` runs the program. */
export async function startConfigured(
  defer: Defer,
  url: string,
  config: object = {},
  env: Readonly<Record<string, string>> = {},
  command?: readonly string[],
): Promise<SidecarProcess> {
  const file = path.join(temporaryFolder(defer), 'sidecar.yaml');
  const ports = { listen: { host: '127.0.0.1', port: 0 }, monitor: { port: 0 } };
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(merged({ upstream: { url }, ...ports }, config)), { mode: 0o600 });
  const sidecar = await startSidecarProcess(['--config', file], env, command);
  defer(() => sidecar.stop());
  return sidecar;
}

/** Its answer as JSON, e.g. `jsonOf<Live>(`http://${sidecar.monitor}/live`)`. */
export async function jsonOf<Shape>(url: string): Promise<Shape> {
  return (await (await fetch(url)).json()) as Shape;
}

/** On its application, by default smartWeb. */
export function verdictOf({ monitor }: SidecarProcess, application = 'smartWeb') {
  return jsonOf<Verdict & { readonly rules: readonly VerdictRule[] }>(
    `http://${monitor}/${application}/api/rest/v0/admin/d2/verdict`,
  );
}

function merged(base: Readonly<Record<string, object>>, config: object): object {
  const sections = Object.entries(config).map(([name, own]) => [
    name,
    typeof own === 'object' && !Array.isArray(own) ? { ...base[name], ...own } : own,
  ]);
  return { ...base, ...Object.fromEntries(sections) };
}

/** Runs `d2-sidecar ARGS` to its end, without variables that configure this machine's sidecar. `command` runs the program. */
export function runSidecar(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  [program = '', ...before]: readonly string[] = [process.execPath],
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('D2_SIDECAR_'));
  const options = { env: { ...Object.fromEntries(others), ...env }, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve) => {
    const child = execFile(program, [...before, MAIN_PATH, ...args], options, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, stdout, stderr: withoutRuntimeWarning(stderr) });
    });
  });
}

/** The exit code of a child, 128 when a signal ended it. */
export async function exitOf(child: ChildProcess): Promise<number> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode ?? 128;
}

/** Ends a child: the signal, then SIGKILL when it is still there after 10 s. */
export async function stopProcess(child: ChildProcess, exited: Promise<number>, signal: NodeJS.Signals) {
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  return await exited.finally(() => clearTimeout(timer));
}

/** The line that says where it listens; all lines go to `logs`. */
export function listeningLine(child: ChildProcess, logs: LogLine[], exited: Promise<number>): Promise<LogLine> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`not listening after ${START_TIMEOUT_MS} ms`)), START_TIMEOUT_MS);
    exited.then((code) => {
      clearTimeout(timer);
      reject(new Error(`ended with exit code ${code}`));
    }, reject);
    if (child.stdout === null) return;
    // Reads for the life of the process: a full pipe would stop it.
    createInterface({ input: child.stdout }).on('line', (text) => {
      const line = toLogLine(text);
      if (line.msg === RUNTIME_WARNING && RUNTIME_WARNING !== undefined) return;
      logs.push(line);
      if (line.msg !== 'listening') return;
      clearTimeout(timer);
      resolve(line);
    });
  });
}

function toLogLine(text: string): LogLine {
  try {
    return JSON.parse(text) as LogLine;
  } catch {
    // Not JSON: kept, so that a test that requires JSON lines finds it.
    return { msg: undefined, notJson: text };
  }
}
