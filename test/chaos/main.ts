/**
 * The chaos run: `npm run chaos`. Clients, a sidecar and an upstream with random faults; afterwards every byte and every
 * call must be accounted for. Compiled into dist-chaos/; it uses the sidecar only as built, through its ports.
 * Read first: truth/call-plan.ts (what a call is), accounts/ (what must hold), run/chaos-run.ts (what happens when).
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { freePorts } from '../bench/load/ports.ts';
import { type Processes, progress } from '../bench/load/processes.ts';
import { OrderedProcess } from '../support/load/orders.ts';
import { runProgram } from '../support/load/run.ts';
import { Book } from './accounts/book.ts';
import { Crowd } from './clients/crowd.ts';
import { parseOptions, USAGE } from './options.ts';
import { ChaosRun } from './run/chaos-run.ts';

const UPSTREAM = path.join(import.meta.dirname, 'upstream/scripted-upstream.js');
const PROGRESS_MS = 5_000;
const SHOWN_OF_EACH = 10;

async function run(options: ReturnType<typeof parseOptions>, processes: Processes, folder: string): Promise<number> {
  const { seed, seconds } = options;
  const [port = 0, monitorPort = 0, upstreamPort = 0] = await freePorts(3);
  const ledgerPath = path.join(folder, 'ledger');
  writeFileSync(ledgerPath, '');
  const book = new Book(seed);
  const upstream = new OrderedProcess(processes, UPSTREAM, `${upstreamPort}`, `${seed}`, ledgerPath);
  const crowd = new Crowd(seed, port, book);
  const sidecar = { processes, folder, port, monitorPort, upstreamPort };
  const chaosRun = new ChaosRun({ seed, sidecar, upstream, ledgerPath, crowd, book });
  progress(`seed ${seed}, ${seconds} s`);
  const timer = setInterval(() => {
    const sent = Object.values(book.counts).reduce((sum, counts) => sum + (counts.sent ?? 0), 0);
    const differences = [...book.differences.keys()].join(', ') || 'no differences';
    progress(
      `[${Math.round(performance.now() / 1_000)} of ${seconds} s] life ${book.life}; ${sent} calls; ${differences}`,
    );
  }, PROGRESS_MS);
  try {
    await chaosRun.run(seconds * 1_000);
  } finally {
    clearInterval(timer);
  }
  return report(seed, book, chaosRun);
}

/** The last line has all of it in short: CI keeps only the end of the output. */
function report(
  seed: number,
  { counts, excused, messages, differences, life }: Book,
  { ends, storm }: ChaosRun,
): number {
  console.table(counts);
  console.log({ 'starts of the sidecar': life, 'ends of stages': ends, 'faults of the upstream': storm.counts });
  console.log({ 'messages of WebSockets': messages, 'unplanned endings by the fault in progress': excused });
  if (differences.size === 0) {
    console.log('good: every byte right, every call accounted for');
    return 0;
  }
  for (const [sort, all] of differences)
    for (const what of all.slice(0, SHOWN_OF_EACH)) console.log(`  ${sort}: ${what}`);
  const short = Array.from(differences, ([sort, all]) => `${all.length} of ${sort}, e.g. ${all[0]}`);
  console.log(`BAD, with seed ${seed}: ${short.join('; ')}`);
  return 1;
}

await runProgram({ name: 'chaos', usage: USAGE, parse: parseOptions, run });
