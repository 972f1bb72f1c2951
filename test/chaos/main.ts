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
import { renderReport } from './report.ts';
import { ChaosRun } from './run/chaos-run.ts';
import { Storm } from './run/storm.ts';
import { makeWeather } from './run/weather.ts';
import { randomOf } from './truth/pattern.ts';

const UPSTREAM = path.join(import.meta.dirname, 'upstream/scripted-upstream.js');
const PROGRESS_MS = 5_000;
const SIZE = { call: 90, poll: 80, socket: 30 };

async function run(options: ReturnType<typeof parseOptions>, processes: Processes, folder: string): Promise<number> {
  const { seed, seconds } = options;
  const [port = 0, monitorPort = 0, upstreamPort = 0] = await freePorts(3);
  const ledgerPath = path.join(folder, 'ledger');
  writeFileSync(ledgerPath, '');
  const book = new Book(seed);
  const { differences } = book;
  const upstream = new OrderedProcess(processes, UPSTREAM, `${upstreamPort}`, `${seed}`, ledgerPath);
  const storm = new Storm(upstream, book.windows);
  const crowd: Crowd = new Crowd({
    seed,
    port,
    size: SIZE,
    random: randomOf(seed, 'pace'),
    lifeOf: () => chaosRun.life,
    book,
  });
  const sidecar = { processes, folder, port, monitorPort, upstreamPort };
  const chaosRun = new ChaosRun({ sidecar, upstream, ledgerPath, crowd, storm, book });
  progress(`seed ${seed}, ${seconds} s, clients: ${JSON.stringify(SIZE)}`);
  const timer = setInterval(() => {
    const of = (outcome: Parameters<Book['total']>[0]) => `${book.total(outcome)} ${outcome}`;
    const calls = (['answered', 'problem', 'failed', 'aborted', 'unconnected'] as const).map(of).join(', ');
    const life = `[${Math.round(performance.now() / 1_000)} of ${seconds} s] life ${chaosRun.life}`;
    progress(`${life}; ${calls}; upstream ${storm.condition}; ${differences.count} differences`);
  }, PROGRESS_MS);
  try {
    await chaosRun.run(makeWeather(seed, seconds * 1_000));
  } finally {
    clearInterval(timer);
  }
  process.stdout.write(renderReport(seed, book, chaosRun, storm));
  return differences.count === 0 ? 0 : 1;
}

await runProgram({ name: 'chaos', usage: USAGE, parse: parseOptions, run });
