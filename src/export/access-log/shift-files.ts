import { removeOwn, renameTrusted } from '../../base/write-aside.ts';

/**
 * Renames `path` to `path.1`, `path.1` to `path.2` and so on, up to `keep`; the oldest file is overwritten. With `keep`
 * 0, `path` itself is deleted. Rejects with the system's error, or with UntrustedFileError for a link or another user's
 * file; then the youngest file is intact.
 */
export async function shiftFiles(path: string, keep: number): Promise<void> {
  if (keep === 0) {
    await removeOwn(path);
    return;
  }
  for (let number = keep - 1; number >= 1; number -= 1)
    await renameTrusted(`${path}.${number}`, `${path}.${number + 1}`);
  await renameTrusted(path, `${path}.1`);
}
