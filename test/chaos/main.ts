/**
 * The chaos run: `npm run chaos`. Clients, a sidecar and an upstream with random faults; afterwards every byte and every
 * call must be accounted for. Compiled into dist-chaos/; it uses the sidecar only as built, through its ports.
 * Read first: truth/call-plan.ts (what a call is), accounts/ (what must hold), run/chaos-run.ts (what happens when).
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT_FOLDER } from '../bench/load/folders.ts';
import { freePorts } from '../bench/load/ports.ts';
import type { Processes } from '../bench/load/processes.ts';
import { Book } from './accounts/book.ts';
import { Differences } from './accounts/differences.ts';
import { Windows } from './accounts/windows.ts';
import { Crowd } from './clients/crowd.ts';
import { type Options, parseOptions, USAGE } from './options.ts';
import { renderReport } from './report.ts';
import { ChaosRun } from './run/chaos-run.ts';
import { figuresOf } from './run/figures.ts';
import { Storm } from './run/storm.ts';
import { UpstreamProcess } from './run/upstream-process.ts';
import { makeWeather } from './run/weather.ts';
import { randomOf } from './truth/pattern.ts';
import { withProcesses } from './with-processes.ts';

const PROGRESS_MS = 5_000;

async function run(args: readonly string[]): Promise<number> {
  const options = parseOptions(args, Math.random);
  if (options.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  return await withProcesses('d2-chaos-', (processes, folder) => chaos(options, processes, folder));
}

async function chaos(options: Options, processes: Processes, folder: string): Promise<number> {
  const { seed, clients, lie } = options;
  const [port = 0, monitorPort = 0, upstreamPort = 0] = await freePorts(3);
  const ledgerPath = path.join(folder, 'ledger');
  writeFileSync(ledgerPath, '');
  const differences = new Differences();
  const windows = new Windows();
  const book = new Book(seed, differences, windows);
  const upstream = new UpstreamProcess({ processes, port: upstreamPort, seed, ledgerPath, lie });
  const storm = new Storm(upstream, windows);
  const size = toSize(clients);
  const crowd: Crowd = new Crowd({
    seed,
    port,
    size,
    random: randomOf(seed, 'pace'),
    lifeOf: () => chaosRun.life,
    onSent: (id) => book.sent(id),
    onEntry: (entry) => book.over(entry),
    onConnected: (life) => {
      book.lifeTally(life).connected += 1;
    },
    onStray: (id, bytes) => differences.add('wrong bytes', `${bytes} bytes behind the end of ${id}`),
  });
  const main = options.sidecar ?? path.join(ROOT_FOLDER, 'dist/main.js');
  const sidecar = { processes, main, folder, port, monitorPort, upstreamPort };
  const chaosRun = new ChaosRun({ sidecar, upstream, ledgerPath, crowd, storm, book, windows, differences });
  progress(
    `seed ${seed}, ${options.seconds} s, ${size.calls} REST, ${size.polls} long-polling, ${size.sockets} WebSocket clients`,
  );
  const timer = setInterval(
    () => progress(toProgress(options, { book, storm, differences, run: chaosRun })),
    PROGRESS_MS,
  );
  try {
    await chaosRun.run(makeWeather(seed, options.seconds * 1_000, options.dataPath));
  } finally {
    clearInterval(timer);
  }
  process.stdout.write(renderReport({ seed, book, run: chaosRun, storm, differences }));
  return differences.count === 0 ? 0 : 1;
}

function toSize(clients: number) {
  const sockets = Math.max(1, Math.round(clients * 0.15));
  const polls = Math.max(1, Math.round(clients * 0.4));
  return { calls: Math.max(1, clients - sockets - polls), polls, sockets };
}

function toProgress(
  { seconds }: Options,
  parts: { readonly book: Book; readonly storm: Storm; readonly differences: Differences; readonly run: ChaosRun },
): string {
  const { book, storm, differences, run } = parts;
  const of = (outcome: Parameters<Book['total']>[0]) => `${book.total(outcome)} ${outcome}`;
  const calls = (['answered', 'problem', 'failed', 'aborted', 'unconnected'] as const).map(of).join(', ');
  return `[${Math.round(performance.now() / 1_000)} of ${seconds} s] life ${run.life}${toFigures(run.pid)}; ${calls}; upstream ${storm.condition}; ${differences.count} differences`;
}

function toFigures(pid: number | undefined): string {
  if (pid === undefined) return ', away';
  try {
    const { residentBytes, descriptors } = figuresOf(pid);
    return `, ${Math.round(residentBytes / 2 ** 20)} MB, ${descriptors} descriptors`;
  } catch {
    // Ended meanwhile.
    return '';
  }
}

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`chaos: ${(error as Error).stack ?? error}\n`);
  process.exitCode = 1;
}
