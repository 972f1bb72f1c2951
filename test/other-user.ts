/** Makes files and links look as if another user had put them there, whoever runs the tests. */
import { lchownSync } from 'node:fs';
import { vi } from 'vitest';

const OTHER_UID = 4_711;

/** Gives `path` (a link itself, not its target) to another user: by its owner for root, else this process counts as another one. */
export function giveToOther(path: string): void {
  const own = process.geteuid?.() ?? 0;
  if (own === 0) lchownSync(path, OTHER_UID, OTHER_UID);
  else vi.spyOn(process, 'geteuid').mockReturnValue(own + 1);
}
