import { rename, rm } from 'node:fs/promises';

/**
 * Renames `path` to `path.1`, `path.1` to `path.2` and so on, up to `keep`; the oldest file is overwritten. With `keep`
 * 0, `path` itself is deleted. Rejects with the system's error; then the youngest file is intact.
 */
export async function shiftFiles(path: string, keep: number): Promise<void> {
  if (keep === 0) {
    await rm(path, { force: true });
    return;
  }
  for (let number = keep - 1; number >= 1; number -= 1)
    await renameIfThere(`${path}.${number}`, `${path}.${number + 1}`);
  await renameIfThere(path, `${path}.1`);
}

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}
