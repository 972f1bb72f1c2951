/**
 * The abuse run: `npm run abuse`. Floods in sequence against a sidecar in a cgroup of 512 MiB, each with honest users beside it;
 * no user may have waited long, and the process must survive. Compiled into dist-abuse/; it uses the sidecar only as built,
 * through its ports. Read first: floods/ (the attacks), users/crowd.ts (the measurements), run/verdict.ts (the bounds).
 */
import path from 'node:path';
import { takeCores } from '../bench/load/machine.ts';
import { type Processes, progress } from '../bench/load/processes.ts';
import { OrderedProcess } from '../support/load/orders.ts';
import { runProgram } from '../support/load/run.ts';
import type { Flood } from './floods/flood.ts';
import { generate } from './generator/generator.ts';
import { parseOptions, USAGE } from './options.ts';
import { type Ground, runFlood } from './run/abuse-run.ts';
import { createMemoryCgroup } from './run/memory-cgroup.ts';
import { describe, MEMORY_BYTES, missedBounds } from './run/verdict.ts';

async function run(options: ReturnType<typeof parseOptions>, processes: Processes, folder: string): Promise<number> {
  const { floods, isShort, isList, generateMinutes } = options;
  if (isList) {
    for (const { name, what } of floods) console.log(`${name.padEnd(27)}${what}`);
    return 0;
  }
  const cgroup = createMemoryCgroup(MEMORY_BYTES);
  process.on('exit', () => cgroup?.remove());
  if (cgroup === undefined)
    progress('no memory cgroup can be made here: resident memory is compared with 512 MiB instead');
  const core = takeCores();
  const start = (name: string) => OrderedProcess.start(processes, path.join(import.meta.dirname, name));
  const [upstream, users] = await Promise.all([start('upstream/main.js'), start('users/crowd.js')]);
  const upstreamPort = await upstream.order<number>('port');
  if (generateMinutes !== undefined) {
    await generate(generateMinutes, { processes, folder, upstreamPort, core });
    return 0;
  }
  const ground = { sidecar: { processes, folder, upstreamPort, wrap: cgroup?.within, core }, users, isShort };
  const bad: string[] = [];
  for (const [nth, flood] of floods.entries()) {
    progress(`[${nth + 1} of ${floods.length}] ${flood.name}`);
    const missed = await missedBy(flood, ground);
    if (processes.isClosed) return 1;
    progress(missed === '' ? 'good' : `BAD: ${missed}`);
    if (missed !== '') bad.push(`${flood.name}: ${missed}`);
  }
  // On one line, the last: CI keeps only the end of the output.
  console.log(
    bad.length === 0 ? 'good: every bound held' : `BAD: ${bad.length} of ${floods.length}: ${bad.join('; ')}`,
  );
  return bad.length === 0 ? 0 : 1;
}

async function missedBy(flood: Flood, ground: Ground): Promise<string> {
  try {
    const result = await runFlood(flood, ground);
    console.log(`${flood.name}: ${describe(result)}`);
    return missedBounds(flood, result).join(', ');
  } catch (cause) {
    return `not measured: ${(cause as Error).stack}`;
  }
}

await runProgram({ name: 'abuse', usage: USAGE, parse: parseOptions, run });
