/** `dist/main.js` started by hand: with a password on standard input, a planted bug, or an invalid configuration. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { collect } from '../../support/install/run.ts';
import { exitOf, MAIN_PATH } from '../../support/sidecar-process.ts';

export type Program = ReturnType<typeof startProgram>;
type Env = Readonly<Record<string, string>>;

/** Without the variables of this machine that configure a sidecar. `output` has both streams. */
export function startProgram(args: readonly string[], env: Env = {}, input = '') {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('D2_SIDECAR_'));
  const child = spawn(process.execPath, [MAIN_PATH, ...args], { env: { ...Object.fromEntries(others), ...env } });
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const output = () => `${stdout()}${stderr()}`;
  // A program that does not read its input leaves the pipe full.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const exited = once(child, 'close').then(() => exitOf(child));
  /** Resolves when the output matches; rejects when the program ends first. */
  const until = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const match = pattern.exec(output());
      if (match !== null) return match;
      if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}: ${output()}`);
      await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data'), exited]);
    }
  };
  return { child, output, stdout, stderr, until, exited };
}

export async function runProgram(args: readonly string[], env?: Env, input?: string) {
  const program = startProgram(args, env, input);
  const code = await program.exited;
  return { code, output: program.output(), stdout: program.stdout(), stderr: program.stderr() };
}
