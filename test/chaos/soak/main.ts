/** The soak: `npm run soak`. A steady load for half an hour; memory and descriptors must not grow. */
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeProgram } from '../../bench/load/peers/node-peers.ts';
import { freePorts, untilListening } from '../../bench/load/ports.ts';
import { hasEnded, type Processes, progress } from '../../bench/load/processes.ts';
import { figuresOf } from '../../support/load/proc.ts';
import { runProgram } from '../../support/load/run.ts';
import { SidecarProcess } from '../../support/load/sidecar.ts';
import { parseSoakOptions, SOAK_USAGE } from '../options.ts';
import { settingsOf } from '../run/chaos-run.ts';
import { Load } from './load.ts';
import { judge, renderSamples, type SoakSample, type Verdict } from './soak-report.ts';

const SAMPLE_MS = 1_000;
/** Its metrics are scraped as often as by an eager Prometheus. */
const SCRAPE_EVERY = 5;
const PROGRESS_EVERY = 10;
/** Much longer than the sliding window of the statistics: the allocator settles for ten minutes after that is full. */
const WARM_UP_SHARE = 1 / 2;
const LEAST_WARM_UP_S = 30;
/** The permitted rise of memory an hour. */
const BOUND_MB = 1;

async function run({ minutes }: { minutes: number }, processes: Processes, folder: string): Promise<number> {
  const [port = 0, monitorPort = 0, upstreamPort = 0] = await freePorts(3);
  const upstream = processes.start(nodeProgram('stand', upstreamPort));
  await untilListening(upstreamPort, () => hasEnded(upstream));
  const parts = { processes, folder, port, monitorPort, upstreamPort };
  const sidecar = await SidecarProcess.start(parts, settingsOf());
  const load = new Load(port);
  const running = load.run();
  const samples = await watch(minutes, sidecar, load);
  load.stop();
  await running;
  const warmUpS = Math.max(LEAST_WARM_UP_S, minutes * 60 * WARM_UP_SHARE);
  const counts = await compareCounts(sidecar, load);
  const verdict = judge(samples, warmUpS, BOUND_MB);
  const code = await sidecar.end('SIGTERM');
  const complaints = sidecar.complaints.map((complaint) => `complaint: ${complaint}`);
  const lines = [renderSamples(samples, warmUpS), '', load.summary, counts.text, ...complaints, verdict.text];
  process.stdout.write(`${lines.join('\n')}\n`);
  const isGood = verdict.isGood && counts.isGood && code === 0 && load.failed === 0 && complaints.length === 0;
  return isGood ? 0 : 1;
}

async function watch(minutes: number, sidecar: SidecarProcess, load: Load): Promise<SoakSample[]> {
  const samples: SoakSample[] = [];
  const beganMs = performance.now();
  for (let i = 0; performance.now() - beganMs < minutes * 60_000; i += 1) {
    const waitMs = beganMs + i * SAMPLE_MS - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    const figures = figuresOf(sidecar.pid);
    if (figures === undefined) throw new Error(`the sidecar has ended: ${sidecar.complaints.join()}`);
    const scraped = i % SCRAPE_EVERY === 0 ? await sidecar.scrape() : undefined;
    const heapUsedBytes = scraped?.sum('nodejs_heap_size_used_bytes');
    const atS = (performance.now() - beganMs) / 1_000;
    samples.push({ atS, ...figures, heapUsedBytes });
    if (i % PROGRESS_EVERY !== 0) continue;
    const [resident, heap] = [figures.residentBytes, heapUsedBytes ?? 0].map((bytes) => (bytes / 2 ** 20).toFixed(1));
    const memory = `${resident} MB resident, ${heap} MB heap, ${figures.descriptors} descriptors`;
    progress(`[${Math.round(atS)} of ${Math.round(minutes * 60)} s] ${memory}; ${load.summary}`);
  }
  return samples;
}

async function compareCounts(sidecar: SidecarProcess, load: Load): Promise<Verdict> {
  const samples = await sidecar.scrape();
  const ok = samples.sum('d2_calls_total', { kind: 'rpc', outcome: 'ok' });
  const aborted = samples.sum('d2_calls_aborted_total', { kind: 'rpc' });
  // An aborted request may have been answered already, or never received.
  const isGood = ok >= load.answered && ok + aborted <= load.answered + load.aborted;
  return { text: `${isGood ? '' : 'BAD: '}the sidecar counted ${ok} calls answered, ${aborted} aborted`, isGood };
}

await runProgram({ name: 'soak', usage: SOAK_USAGE, parse: parseSoakOptions, run });
