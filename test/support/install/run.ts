import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { withoutRuntimeWarning } from '../runtime-warning.ts';

export const ROOT = path.resolve(import.meta.dirname, '../../..');

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The test's environment without variables that configure a sidecar or npm, or that make Node.js load something for a test. */
export function plainEnv(): NodeJS.ProcessEnv {
  const isLeftOut = (name: string) => /^(?:D2_SIDECAR_|npm_|NOTIFY_SOCKET$|NODE_OPTIONS$)/.test(name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isLeftOut(name)));
}

export function collect(stream: NodeJS.ReadableStream | null): () => string {
  let text = '';
  stream?.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  return () => text;
}

export async function run(
  program: string,
  args: readonly string[],
  { cwd = ROOT, env = {} }: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Ran> {
  const child = spawn(program, args, { cwd, env: { ...plainEnv(), ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout: stdout(), stderr: withoutRuntimeWarning(stderr()) };
}

/** The commit of builds in a copy of the project, which has no repository. */
export const BUILD = '0123456789ab';

/** Runs a program; rejects with its output unless it ends with 0. */
export async function succeed(program: string, args: readonly string[], cwd = ROOT): Promise<Ran> {
  const ran = await run(program, args, { cwd, env: { BUILD_COMMIT: BUILD } });
  if (ran.code !== 0) throw new Error(`${program} ${args[0]} ended with ${ran.code}\n${ran.stdout}${ran.stderr}`);
  return ran;
}
