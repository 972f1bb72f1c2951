/**
 * The load benchmarks: `npm run bench`. Starts every installed peer and loads them in turn, in rounds, in one run.
 * Progress goes to standard error, tables to standard output. This folder is compiled into dist-bench/, and uses
 * the sidecar only as built, through its ports. Read first: workloads/workload.ts, run-workload.ts, peers/peer.ts.
 */
import { writeFileSync } from 'node:fs';
import { runProgram } from '../../support/load/run.ts';
import { describeMachine, takeCores } from './machine.ts';
import { ALL_WORKLOADS, type Options, parseOptions, USAGE } from './options.ts';
import { findFile } from './peers/peer.ts';
import { type Processes, progress } from './processes.ts';
import { isReached, type Measured, renderReport } from './report.ts';
import { toText, valuesOf } from './results.ts';
import { Rig } from './rig.ts';
import { runWorkload } from './run-workload.ts';
import { sidecarTo } from './workloads/workload.ts';

/** Gross loss, far above all noise: the sidecar needs about a fifth of plain http-proxy. */
const SHORT = { bound: 'at most', limit: 0.5 } as const;
/** The lines of Node.js that are shipped begin with it. */
const OLDEST_SHIPPED = 24;

async function run(options: Options, processes: Processes, folder: string): Promise<number> {
  if (findFile('wrk') === undefined) throw new Error('wrk is not installed: apt-get install wrk');
  if (Number.parseInt(process.versions.node, 10) < OLDEST_SHIPPED)
    progress(`figures of Node.js ${process.versions.node} are not those of what is shipped: take 24 or 26`);
  const peerCore = takeCores();
  const rig = new Rig(processes, folder, peerCore);
  const machine = describeMachine(peerCore);
  const all: Measured[] = [];
  for (const workload of ALL_WORKLOADS.filter(({ name }) => options.workloads.includes(name))) {
    all.push({ workload, result: await runWorkload(workload, rig, options) });
  }
  const report = renderReport(all, machine, options);
  process.stdout.write(report);
  if (options.markdown !== undefined) writeFileSync(options.markdown, report);
  return options.isShort ? judge(all) : 0;
}

function judge(all: readonly Measured[]): number {
  const values = all.flatMap(({ result }) => valuesOf(result, sidecarTo('http-proxy', 'cpuUs')));
  if (values.length === 0) throw new Error('the sidecar or plain http-proxy could not be measured');
  const isWell = isReached(SHORT, values);
  const verdict = `${toText(values, 2)} of the processor time of plain http-proxy, at most ${SHORT.limit}`;
  progress(`${isWell ? 'good' : 'gross loss'}: ${verdict}`);
  return isWell ? 0 : 1;
}

await runProgram({ name: 'bench', usage: USAGE, parse: parseOptions, run });
