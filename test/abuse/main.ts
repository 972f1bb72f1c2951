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
import { generate } from './generator/generator.ts';
import { parseOptions, USAGE } from './options.ts';
import { isGood, type Row, reasonsOf, renderReport } from './report.ts';
import { runFlood } from './run/abuse-run.ts';
import { MemoryCgroup } from './run/memory-cgroup.ts';
import { MEMORY_BYTES } from './run/verdict.ts';

async function run(options: ReturnType<typeof parseOptions>, processes: Processes, folder: string): Promise<number> {
  const { floods, isShort, isList, generateMinutes } = options;
  if (isList) {
    process.stdout.write(floods.map(({ name, what }) => `${name.padEnd(27)}${what}\n`).join(''));
    return 0;
  }
  const cgroup = MemoryCgroup.create(MEMORY_BYTES);
  process.on('exit', () => cgroup?.remove());
  if (cgroup === undefined)
    progress('no memory cgroup can be made here: resident memory is compared with 512 MiB instead');
  const core = takeCores();
  const start = (name: string) => OrderedProcess.start(processes, path.join(import.meta.dirname, name));
  const [upstream, users] = await Promise.all([start('upstream/main.js'), start('users/crowd.js')]);
  const upstreamPort = await upstream.order<number>('port');
  if (generateMinutes !== undefined) {
    process.stdout.write(`\n${await generate(generateMinutes, { processes, folder, upstreamPort, core })}`);
    return 0;
  }
  const wrap = cgroup?.within.bind(cgroup);
  const ground = { sidecar: { processes, folder, upstreamPort, wrap, core }, users, isShort };
  const rows: Row[] = [];
  for (const [nth, flood] of floods.entries()) {
    progress(`[${nth + 1} of ${floods.length}] ${flood.name}`);
    const row = { flood, result: await runFlood(flood, ground).catch((cause: Error) => cause) };
    if (processes.isClosed) return 1;
    progress(`${flood.name}: ${isGood(row) ? 'good' : `BAD: ${reasonsOf(row).join(', ')}`}`);
    rows.push(row);
  }
  const limit = cgroup === undefined ? '512 MiB, compared' : 'a cgroup of 512 MiB';
  process.stdout.write(`\n${renderReport(rows, limit)}`);
  return rows.every(isGood) ? 0 : 1;
}

await runProgram({ name: 'abuse', usage: USAGE, parse: parseOptions, run });
