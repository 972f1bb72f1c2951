/**
 * The abuse run: `npm run abuse`. Floods in sequence against a sidecar in a cgroup of 512 MiB, each with honest users beside it;
 * no user may have waited long, and the process must survive. Compiled into dist-abuse/; it uses the sidecar only as built,
 * through its ports. Read first: floods/ (the attacks), users/crowd.ts (the measurements), run/verdict.ts (the bounds).
 */
import path from 'node:path';
import { takeCores } from '../bench/load/machine.ts';
import { progress, withProcesses } from '../bench/load/processes.ts';
import { OrderedProcess } from '../support/load/orders.ts';
import { runProgram } from '../support/load/run.ts';
import { parseOptions, USAGE } from './options.ts';
import { isGood, type Row, reasonsOf, renderReport } from './report.ts';
import { AbuseRun } from './run/abuse-run.ts';
import { MemoryCgroup } from './run/memory-cgroup.ts';
import { MEMORY_BYTES } from './run/verdict.ts';

const PROGRESS_MS = 2_000;

async function run(args: readonly string[]): Promise<number> {
  const { floods, isShort, isList, isHelp } = parseOptions(args);
  if (isHelp || isList) {
    const list = floods.map(({ name, what }) => `${name.padEnd(24)}${what}\n`);
    process.stdout.write(isHelp ? USAGE : list.join(''));
    return 0;
  }
  const cgroup = MemoryCgroup.create(MEMORY_BYTES);
  process.on('exit', () => cgroup?.remove());
  if (cgroup === undefined)
    progress('no memory cgroup can be made here: resident memory is compared with 512 MiB instead');
  return await withProcesses('d2-abuse-', async (processes, folder) => {
    const core = takeCores();
    const start = (name: string) => OrderedProcess.start(processes, path.join(import.meta.dirname, name, 'main.js'));
    const [upstream, users] = await Promise.all([start('upstream'), start('users')]);
    const upstreamPort = await upstream.order<number>('port');
    let what = '';
    let toldMs = 0;
    const onProgress = (phase: string, bytes: number | undefined) => {
      if (performance.now() - toldMs < PROGRESS_MS) return;
      toldMs = performance.now();
      progress(`${what}: ${phase}, ${bytes === undefined ? 'ended' : `${Math.round(bytes / 1e6)} MB`}`);
    };
    const wrap = cgroup === undefined ? undefined : cgroup.within.bind(cgroup);
    const sidecar = { processes, folder, upstreamPort, wrap, core };
    const abuseRun = new AbuseRun({ sidecar, users, isShort, onProgress });
    const rows: Row[] = [];
    for (const [nth, flood] of floods.entries()) {
      what = `[${nth + 1} of ${floods.length}] ${flood.name}`;
      const row = { flood, result: await abuseRun.flood(flood).catch((cause: Error) => cause) };
      if (processes.isClosed) return 1;
      progress(`${flood.name}: ${isGood(row) ? 'good' : `BAD: ${reasonsOf(row).join(', ')}`}`);
      rows.push(row);
    }
    const limit = cgroup === undefined ? '512 MiB, compared' : 'a cgroup of 512 MiB';
    process.stdout.write(`\n${renderReport(rows, limit)}`);
    return rows.every(isGood) ? 0 : 1;
  });
}

await runProgram('abuse', run);
