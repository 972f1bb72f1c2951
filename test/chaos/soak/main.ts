/** The soak: `npm run soak`. A steady load for half an hour; memory and descriptors must not grow. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT_FOLDER } from '../../bench/load/folders.ts';
import { freePorts, untilListening } from '../../bench/load/ports.ts';
import { hasEnded, type Processes } from '../../bench/load/processes.ts';
import { figuresOf } from '../run/figures.ts';
import { SidecarProcess } from '../run/sidecar-process.ts';
import { randomOf } from '../truth/pattern.ts';
import { withProcesses } from '../with-processes.ts';
import { Load } from './load.ts';
import { parseSoakOptions, SOAK_USAGE, type SoakOptions } from './options.ts';
import { judge, renderSamples, type SoakSample, type Verdict } from './soak-report.ts';

const SAMPLE_MS = 1_000;
/** Its metrics are scraped as often as by an eager Prometheus. */
const SCRAPE_EVERY = 5;
const PROGRESS_EVERY = 10;
/** Much longer than the sliding window of the statistics: the allocator settles for ten minutes after that is full. */
const WARM_UP_SHARE = 1 / 2;
const LEAST_WARM_UP_S = 30;
const UPSTREAM = path.join(import.meta.dirname, 'upstream.js');

async function run(args: readonly string[]): Promise<number> {
  const options = parseSoakOptions(args);
  if (options.help) {
    process.stdout.write(SOAK_USAGE);
    return 0;
  }
  return await withProcesses('d2-soak-', (processes, folder) => soak(options, processes, folder));
}

async function soak(options: SoakOptions, processes: Processes, folder: string): Promise<number> {
  const [port = 0, monitorPort = 0, upstreamPort = 0] = await freePorts(3);
  const upstream = processes.start({ file: process.execPath, args: [UPSTREAM, String(upstreamPort)] });
  await untilListening(upstreamPort, () => hasEnded(upstream));
  const main = options.sidecar ?? path.join(ROOT_FOLDER, 'dist/main.js');
  const parts = { processes, main, folder, port, monitorPort, upstreamPort };
  const sidecar = await SidecarProcess.start(parts, { dataPath: options.dataPath, responseTimeoutMs: 0 });
  const { rate, polls, aborts } = options;
  const load = new Load({ port, rate, polls, aborts, random: randomOf(1, 'soak') });
  const running = load.run();
  const samples = await watch(options, sidecar, load);
  load.stop();
  await running;
  const warmUpS = Math.max(LEAST_WARM_UP_S, options.minutes * 60 * WARM_UP_SHARE);
  const counts = await compareCounts(sidecar, load);
  const verdict = judge(samples, warmUpS, options.bound);
  const code = await sidecar.end('SIGTERM');
  const complaints = sidecar.complaints.map((complaint) => `complaint: ${complaint}`);
  const lines = [renderSamples(samples, warmUpS), '', describe(load), counts.text, ...complaints, verdict.text];
  process.stdout.write(`${lines.join('\n')}\n`);
  if (options.csv !== undefined) writeFileSync(options.csv, toCsv(samples));
  const isGood = verdict.isGood && counts.isGood && code === 0 && load.failed === 0 && complaints.length === 0;
  return isGood ? 0 : 1;
}

async function watch({ minutes }: SoakOptions, sidecar: SidecarProcess, load: Load): Promise<SoakSample[]> {
  const samples: SoakSample[] = [];
  const beganMs = performance.now();
  for (let i = 0; performance.now() - beganMs < minutes * 60_000; i += 1) {
    const waitMs = beganMs + i * SAMPLE_MS - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    if (sidecar.hasEnded) throw new Error(`the sidecar has ended: ${sidecar.complaints.join()}`);
    const scraped = i % SCRAPE_EVERY === 0 ? await sidecar.scrape() : undefined;
    const sample = {
      atS: (performance.now() - beganMs) / 1_000,
      ...figuresOf(sidecar.pid),
      heapUsedBytes: scraped?.sum('nodejs_heap_size_used_bytes'),
    };
    samples.push(sample);
    if (i % PROGRESS_EVERY === 0) process.stderr.write(`${toProgress(sample, minutes, load)}\n`);
  }
  return samples;
}

/** The sidecar must have counted what the clients know. */
async function compareCounts(sidecar: SidecarProcess, load: Load): Promise<Verdict> {
  const samples = await sidecar.scrape();
  const ok = samples.sum('d2_calls_total', { kind: 'rpc', outcome: 'ok' });
  const aborted = samples.sum('d2_calls_aborted_total', { kind: 'rpc' });
  // An aborted request may have been answered already, or never received.
  const isGood = ok >= load.answered && ok + aborted <= load.answered + load.aborted;
  const text = `the sidecar counted ${ok} calls answered, ${aborted} aborted`;
  return { text: isGood ? text : `BAD: ${text}`, isGood };
}

function toProgress(sample: SoakSample, minutes: number, load: Load): string {
  const { atS, residentBytes, descriptors, heapUsedBytes = 0 } = sample;
  const megabytes = (bytes: number) => (bytes / 2 ** 20).toFixed(1);
  const figures = `${megabytes(residentBytes)} MB resident, ${megabytes(heapUsedBytes)} MB heap, ${descriptors} descriptors`;
  return `[${Math.round(atS)} of ${Math.round(minutes * 60)} s] ${figures}; ${describe(load)}`;
}

function describe({ answered, aborted, failed, released, skipped }: Load): string {
  return `${answered} calls answered, ${aborted} aborted, ${failed} failed, ${skipped} not made in time, ${released} polls answered`;
}

function toCsv(samples: readonly SoakSample[]): string {
  const lines = samples.map(({ atS, residentBytes, heapUsedBytes = '', descriptors }) =>
    [atS.toFixed(1), residentBytes, heapUsedBytes, descriptors].join(),
  );
  return `${['seconds,resident bytes,heap bytes,descriptors', ...lines].join('\n')}\n`;
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`soak: ${(error as Error).stack ?? error}\n`);
  process.exitCode = 1;
}
