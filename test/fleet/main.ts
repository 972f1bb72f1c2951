/**
 * The load test of many sidecars: `npm run fleet`. One process answers for all of them, with the real exposition; Debian's
 * Prometheus scrapes them with the rules in config/prometheus, then VictoriaMetrics and its vmalert do. Bundled into dist-fleet/.
 * Read first: sites/synthetic-fleet.ts (who answers), stage.ts (what is measured).
 */
import path from 'node:path';
import { type Processes, progress } from '../bench/load/processes.ts';
import { readDashboard } from '../support/grafana/dashboard.ts';
import { OrderedProcess } from '../support/load/orders.ts';
import { runProgram } from '../support/load/run.ts';
import { parseOptions, USAGE } from './options.ts';
import { faultsOf, renderReport } from './report.ts';
import { runStage, type StageReading } from './stage.ts';

/** Bundled, this file is one folder below the project's. */
const ROOT = path.join(import.meta.dirname, '..');

async function run(options: ReturnType<typeof parseOptions>, processes: Processes, folder: string): Promise<number> {
  const { minutes, intervalS } = options;
  const dashboards = { fleet: readDashboard('fleet', ROOT), site: readDashboard('d2-sidecar', ROOT) };
  const ruleFiles = ['rules', 'fleet'].map((name) => path.join(ROOT, `config/prometheus/${name}.yml`));
  const sites = await OrderedProcess.start(
    processes,
    path.join(import.meta.dirname, 'sites.js'),
    `${intervalS * 1_000}`,
  );
  const stages: StageReading[] = [];
  for (const store of options.stores) {
    for (const size of ['small', 'full'] as const) {
      for (const count of options[size]) {
        progress(`[${store}: ${count} ${size}] ${minutes} minutes`);
        const parts = { store, size, count, minutes, intervalS, ruleFiles, dashboards };
        const stage = await runStage(parts, sites, processes, folder);
        stages.push(stage);
        for (const fault of faultsOf(stage)) progress(fault);
      }
    }
  }
  process.stdout.write(renderReport(stages));
  return stages.some((stage) => faultsOf(stage).length > 0) ? 1 : 0;
}

await runProgram({ name: 'fleet', usage: USAGE, parse: parseOptions, run });
