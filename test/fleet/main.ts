/**
 * The load test of many sidecars: `npm run fleet`. One process answers for all of them, with the real exposition; Debian's
 * Prometheus scrapes them with the rules in config/prometheus, then VictoriaMetrics and its vmalert do. Bundled into dist-fleet/.
 * Read first: sites/synthetic-fleet.ts (who answers), stage.ts (what is measured).
 */
import path from 'node:path';
import { type Processes, progress } from '../bench/load/processes.ts';
import { OrderedProcess } from '../support/load/orders.ts';
import { runProgram } from '../support/load/run.ts';
import { parseOptions, USAGE } from './options.ts';
import { runStage } from './stage.ts';

async function run(options: ReturnType<typeof parseOptions>, processes: Processes, folder: string): Promise<number> {
  const { minutes, intervalS } = options;
  const program = path.join(import.meta.dirname, 'sites.js');
  const sites = await OrderedProcess.start(processes, program, `${intervalS * 1_000}`);
  const rows: Readonly<Record<string, string | number>>[] = [];
  const faults: string[] = [];
  for (const store of options.stores) {
    for (const size of ['small', 'full'] as const) {
      for (const count of options[size]) {
        const title = `${store}: ${count} ${size}`;
        progress(`[${title}] ${minutes} minutes`);
        const stage = await runStage({ store, size, count, minutes, intervalS }, sites, processes, folder);
        rows.push(stage.row);
        faults.push(...stage.faults.map((fault) => `${title}: ${fault}`));
      }
    }
  }
  for (const row of rows) console.table(row);
  for (const fault of faults) console.log(fault);
  return faults.length > 0 ? 1 : 0;
}

await runProgram({ name: 'fleet', usage: USAGE, parse: parseOptions, run });
