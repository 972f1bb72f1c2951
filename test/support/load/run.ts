import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Processes, progress } from '../../bench/load/processes.ts';

export interface Program<Options> {
  readonly name: string;
  readonly usage: string;
  /** Throws for a wrong command line. */
  parse(args: readonly string[]): Options;
  /** Resolves to the exit code. */
  run(options: Options, processes: Processes, folder: string): Promise<number>;
}

/** Runs a program with a temporary folder and a set of processes; both are gone afterwards, even after a signal. */
export async function runProgram<Options>({ name, usage, parse, run }: Program<Options>): Promise<void> {
  const args = process.argv.slice(2);
  if (args.includes('--help')) {
    process.stdout.write(usage);
    return;
  }
  const folder = mkdtempSync(path.join(os.tmpdir(), `d2-${name}-`));
  mkdirSync(path.join(folder, 'tmp'));
  const processes = new Processes(path.join(folder, 'tmp'));
  const clear = async () => {
    await processes.close();
    rmSync(folder, { recursive: true, force: true });
  };
  const interrupt = () => void clear().finally(() => process.exit(130));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
  try {
    process.exitCode = await run(parse(args), processes, folder);
  } catch (error) {
    progress(`${name}: ${(error as Error).stack ?? error}`);
    process.exitCode = 1;
  } finally {
    await clear();
  }
  // Clients of a run that failed may still be calling.
  process.exit();
}
