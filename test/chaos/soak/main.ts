/** The soak: `npm run soak`. A steady load for half an hour; memory must not grow, and the counts must be those of the clients. */
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeProgram } from '../../bench/load/peers/node-peers.ts';
import { freePorts, untilListening } from '../../bench/load/ports.ts';
import { hasEnded, type Processes, progress } from '../../bench/load/processes.ts';
import { medianOf } from '../../bench/load/statistics.ts';
import { figuresOf } from '../../support/load/proc.ts';
import { runProgram } from '../../support/load/run.ts';
import { SidecarProcess } from '../../support/load/sidecar.ts';
import { parseSoakOptions, SOAK_USAGE } from '../options.ts';
import { settingsOf } from '../run/chaos-run.ts';
import { Load } from './load.ts';

const SAMPLE_MS = 1_000;
/** Its metrics are scraped as often as by an eager Prometheus. */
const SCRAPE_EVERY = 5;
const PROGRESS_EVERY = 10;
/** Much longer than the sliding window of the statistics: the allocator settles for ten minutes after that is full. */
const WARM_UP_SHARE = 1 / 2;
/** In a shorter run the noise exceeds any useful bound. */
const LEAST_JUDGED_MINUTES = 10;
/** The permitted rise of memory an hour. */
const BOUND_MB = 1;
const SPAN_S = 10;

async function run({ minutes }: { minutes: number }, processes: Processes, folder: string): Promise<number> {
  const [port = 0, monitorPort = 0, upstreamPort = 0] = await freePorts(3);
  const upstream = processes.start(nodeProgram('stand', upstreamPort));
  await untilListening(upstreamPort, () => hasEnded(upstream));
  const sidecar = await SidecarProcess.start({ processes, folder, port, monitorPort, upstreamPort }, settingsOf());
  const load = new Load(port);
  const running = load.run();
  const residentMb = await watch(minutes, sidecar, load);
  load.stop();
  await running;
  const { answered, aborted, failed } = load.counts;
  const samples = await sidecar.scrape();
  const ok = samples.sum('d2_calls_total', { kind: 'rpc', outcome: 'ok' });
  const abortedThere = samples.sum('d2_calls_aborted_total', { kind: 'rpc' });
  const rise = slopeAnHour(residentMb.slice(Math.floor(residentMb.length * WARM_UP_SHARE)));
  const code = await sidecar.end('SIGTERM');
  console.log(load.counts, `the sidecar counted ${ok} calls answered, ${abortedThere} aborted`);
  console.log(`resident memory rises by ${rise.toFixed(2)} MB an hour, at most ${BOUND_MB}`);
  const wrong = [...sidecar.complaints];
  // An aborted request may have been answered already, or never received.
  if (ok < answered || ok + abortedThere > answered + aborted) wrong.push('the counts differ');
  if (minutes < LEAST_JUDGED_MINUTES) console.log('too short to judge memory');
  else if (!(rise <= BOUND_MB)) wrong.push('memory grows');
  if (failed > 0) wrong.push(`${failed} calls failed`);
  if (code !== 0) wrong.push(`exit code ${code}`);
  console.log(wrong.length === 0 ? 'good' : `BAD: ${wrong.join('; ')}`);
  return wrong.length === 0 ? 0 : 1;
}

/** Resident memory, once a second. */
async function watch(minutes: number, sidecar: SidecarProcess, load: Load): Promise<number[]> {
  const residentMb: number[] = [];
  const beganMs = performance.now();
  for (let i = 0; performance.now() - beganMs < minutes * 60_000; i += 1) {
    await sleep(Math.max(0, beganMs + i * SAMPLE_MS - performance.now()));
    const figures = figuresOf(sidecar.pid);
    if (figures === undefined) throw new Error(`the sidecar has ended: ${sidecar.complaints.join()}`);
    if (i % SCRAPE_EVERY === 0) await sidecar.scrape();
    const mb = figures.residentBytes / 2 ** 20;
    residentMb.push(mb);
    const memory = `${mb.toFixed(1)} MB, ${figures.descriptors} descriptors`;
    if (i % PROGRESS_EVERY === 0) progress(`[${i} of ${minutes * 60} s] ${memory}; ${JSON.stringify(load.counts)}`);
  }
  return residentMb;
}

/** The median of the slopes through all pairs of medians of ten seconds (Theil 1950, Sen 1968). */
function slopeAnHour(everySecond: readonly number[]): number {
  const medians = Array.from({ length: Math.floor(everySecond.length / SPAN_S) }, (_, i) =>
    medianOf(everySecond.slice(i * SPAN_S, (i + 1) * SPAN_S)),
  );
  const slopes = medians.flatMap((first, i) =>
    medians.slice(i + 1).map((second, steps) => (second - first) / ((steps + 1) * SPAN_S)),
  );
  return medianOf(slopes) * 3_600;
}

await runProgram({ name: 'soak', usage: SOAK_USAGE, parse: parseSoakOptions, run });
