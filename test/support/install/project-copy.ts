/** A copy of the project, so that a release can be built from it while the sources change, without touching the project's dist/. */
import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { ROOT, run, succeed } from './run.ts';

const NOT_COPIED = /^(?:node_modules|\.git|dist.*|coverage|test)$/;

export async function copyProject(copy: string): Promise<void> {
  mkdirSync(copy);
  for (const name of readdirSync(ROOT).filter((one) => !NOT_COPIED.test(one)))
    cpSync(path.join(ROOT, name), path.join(copy, name), { recursive: true });
  // Hard links where possible: a quarter of a gigabyte. A link to the folder would not do: the bundle's content
  // is identified by its path.
  const modules = [path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules')];
  const linked = await run('cp', ['-al', ...modules]);
  if (linked.code === 0) return;
  rmSync(path.join(copy, 'node_modules'), { recursive: true, force: true });
  await succeed('cp', ['-a', ...modules]);
}
