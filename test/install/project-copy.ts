/** A copy of the project, so that a release can be made of it while others work on the sources, and nobody's dist/ changes under his feet. */
import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { type Ran, ROOT, run } from './run.ts';

/** What is built there is told that it comes from this: a copy has no repository. */
export const BUILD = '0123456789ab';

const NOT_COPIED = /^(?:node_modules|\.git|dist.*|coverage|test)$/;

/** Makes the folder `copy`, without dist/. */
export async function copyProject(copy: string): Promise<void> {
  mkdirSync(copy);
  for (const name of readdirSync(ROOT).filter((one) => !NOT_COPIED.test(one)))
    cpSync(path.join(ROOT, name), path.join(copy, name), { recursive: true });
  // Links to the same files where that is possible: a quarter of a gigabyte. A link to the folder would not do: what is in the bundle
  // is told by where it is.
  const modules = [path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules')];
  const linked = await run('cp', ['-al', ...modules]);
  if (linked.code === 0) return;
  rmSync(path.join(copy, 'node_modules'), { recursive: true, force: true });
  await succeed('cp', ['-a', ...modules], copy);
}

/** Runs a program in a copy; rejects with what it printed unless it ends with 0. */
export async function succeed(program: string, args: readonly string[], cwd: string): Promise<Ran> {
  const ran = await run(program, args, { cwd, env: { BUILD_COMMIT: BUILD } });
  if (ran.code !== 0) throw new Error(`${program} ${args[0]} ended with ${ran.code}\n${ran.stdout}${ran.stderr}`);
  return ran;
}
