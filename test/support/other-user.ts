/** Makes files and links appear to belong to another user, whichever user runs the tests. */
import { lchownSync } from 'node:fs';
import { vi } from 'vitest';

const OTHER_UID = 4_711;

/** Gives `path` (a link itself, not its target) to another user: by its owner if root, otherwise by giving this process another user id. */
export function giveToOther(path: string): void {
  const own = process.geteuid?.() ?? 0;
  if (own === 0) lchownSync(path, OTHER_UID, OTHER_UID);
  else vi.spyOn(process, 'geteuid').mockReturnValue(own + 1);
}
