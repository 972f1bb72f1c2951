/** What the long runs (bench, chaos, soak, abuse) have in common. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Processes } from '../../bench/load/processes.ts';

/** Runs a program; its result is the exit code, 1 for an error. */
export async function runProgram(name: string, run: (args: readonly string[]) => Promise<number>): Promise<void> {
  try {
    process.exitCode = await run(process.argv.slice(2));
  } catch (error) {
    progress(`${name}: ${(error as Error).stack ?? error}`);
    process.exitCode = 1;
  }
}

export function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

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
