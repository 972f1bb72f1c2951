import { rename, rm } from 'node:fs/promises';

/**
 * Sets `path` aside as `path.1`, which becomes `path.2` and so on, up to `keep`; what was the oldest is gone. With `keep` 0 it is gone
 * itself. Rejects with the system's error; then nothing of the youngest is lost.
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
