/** Mounts in the namespace of this process; they end with it. */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';

/** `args` are those of mount(8). Throws with its error output. */
export function mount(args) {
  const { status, stderr, error } = spawnSync('mount', args, { encoding: 'utf8' });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`mount ${args.join(' ')}: ${stderr.trim()}`);
}

/** Returns a folder below `place` that shows `lower`; changes in it do not reach `lower`. */
export function mountOverlay(lower, place) {
  const [upper, work, root] = ['upper', 'work', 'root'].map((name) => path.join(place, name));
  for (const folder of [upper, work, root]) mkdirSync(folder, { recursive: true });
  mount(['-t', 'overlay', 'overlay', '-o', `lowerdir=${lower},upperdir=${upper},workdir=${work}`, root]);
  return root;
}
