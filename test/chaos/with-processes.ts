/** Leaves nothing behind, however a run ends. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Processes } from '../bench/load/processes.ts';

/** Runs `act` with a temporary folder and a set of processes; both are gone afterwards, even after a signal. */
export async function withProcesses(
  prefix: string,
  act: (processes: Processes, folder: string) => Promise<number>,
): Promise<number> {
  const folder = mkdtempSync(path.join(os.tmpdir(), prefix));
  mkdirSync(path.join(folder, 'tmp'));
  const processes = new Processes(path.join(folder, 'tmp'));
  const clear = async () => {
    await processes.close();
    rmSync(folder, { recursive: true, force: true });
  };
  const interrupt = () => void clear().finally(() => process.exit(130));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
  try {
    return await act(processes, folder);
  } finally {
    await clear();
  }
}
