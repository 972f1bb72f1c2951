import { progress } from '../../bench/load/processes.ts';

export async function runProgram(name: string, run: (args: readonly string[]) => Promise<number>): Promise<void> {
  try {
    process.exitCode = await run(process.argv.slice(2));
  } catch (error) {
    progress(`${name}: ${(error as Error).stack ?? error}`);
    process.exitCode = 1;
  }
}
