/**
 * The abuse run: `npm run abuse`. Floods in sequence against a sidecar in a cgroup of 512 MiB, each with honest users beside it;
 * no user may have waited long, and the process must survive. Compiled into dist-abuse/; it uses the sidecar only as built,
 * through its ports. Read first: floods/ (the attacks), users/crowd.ts (the measurements), run/verdict.ts (the bounds).
 */
import path from 'node:path';
import { ROOT_FOLDER } from '../bench/load/folders.ts';
import { takeCores } from '../bench/load/machine.ts';
import type { Processes } from '../bench/load/processes.ts';
import { withProcesses } from '../chaos/with-processes.ts';
import type { Flood } from './floods/flood.ts';
import { type Options, parseOptions, USAGE } from './options.ts';
import { isGood, type Row, renderReport, toVerdict } from './report.ts';
import { AbuseRun } from './run/abuse-run.ts';
import { MemoryCgroup } from './run/memory-cgroup.ts';
import { OrderedProcess } from './run/ordered-process.ts';
import { MEMORY_BYTES } from './run/verdict.ts';

const PROGRESS_MS = 2_000;

async function run(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  if (options.help || options.list) {
    const list = options.floods.map(({ name, what }) => `${name.padEnd(24)}${what}\n`);
    process.stdout.write(options.help ? USAGE : list.join(''));
    return 0;
  }
  const cgroup = MemoryCgroup.create(MEMORY_BYTES);
  // However the run ends: its processes have been ended by then.
  process.on('exit', () => cgroup?.remove());
  if (cgroup === undefined)
    progress('no memory cgroup can be made here: resident memory is compared with 512 MiB instead');
  return await withProcesses('d2-abuse-', (processes, folder) => abuse({ options, processes, folder, cgroup }));
}

interface AbuseParts {
  readonly options: Options;
  readonly processes: Processes;
  readonly folder: string;
  readonly cgroup: MemoryCgroup | undefined;
}

async function abuse({ options, processes, folder, cgroup }: AbuseParts): Promise<number> {
  const core = takeCores();
  const [upstream, users] = await Promise.all(
    ['upstream', 'users'].map((name) => OrderedProcess.start(processes, name)),
  );
  if (upstream === undefined || users === undefined) return 1;
  const upstreamPort = await upstream.order<number>('port', PROGRESS_MS);
  const main = options.sidecar ?? path.join(ROOT_FOLDER, 'dist/main.js');
  const watch = new ProgressWatch(options.floods);
  const abuseRun = new AbuseRun({
    sidecar: { processes, main, folder, upstreamPort, cgroup, core },
    users,
    isShort: options.isShort,
    startAttacker: () => OrderedProcess.start(processes, 'attacker'),
    onProgress: (phase, bytes) => watch.tell(phase, bytes),
  });
  const rows: Row[] = [];
  for (const flood of options.floods) {
    rows.push(await tryFlood(abuseRun, flood, options.retries, watch));
    if (processes.isClosed) return 1;
  }
  const limit = cgroup === undefined ? '512 MiB, compared' : 'a cgroup of 512 MiB';
  process.stdout.write(`\n${renderReport(rows, limit)}`);
  return rows.every(isGood) ? 0 : 1;
}

/** The last try counts; earlier ones are visible in the progress. */
async function tryFlood(abuseRun: AbuseRun, flood: Flood, retries: number, watch: ProgressWatch): Promise<Row> {
  for (let left = retries; ; left -= 1) {
    watch.begin(flood);
    const row = { flood, result: await abuseRun.flood(flood).catch((cause: Error) => cause) };
    const isLast = left <= 0 || isGood(row);
    progress(`${flood.name}: ${toVerdict(row)}${isLast ? '' : '; once more'}`);
    if (isLast) return row;
  }
}

/** A progress line now and then during a flood. */
class ProgressWatch {
  readonly #floods: readonly Flood[];
  #flood: Flood | undefined;
  #toldMs = 0;

  constructor(floods: readonly Flood[]) {
    this.#floods = floods;
  }

  begin(flood: Flood): void {
    this.#flood = flood;
    this.#toldMs = performance.now();
  }

  tell(phase: string, residentBytes: number | undefined): void {
    const nowMs = performance.now();
    if (this.#flood === undefined || nowMs - this.#toldMs < PROGRESS_MS) return;
    this.#toldMs = nowMs;
    const memory = residentBytes === undefined ? 'ended' : `${Math.round(residentBytes / 1e6)} MB`;
    const nth = this.#floods.indexOf(this.#flood) + 1;
    progress(`[${nth} of ${this.#floods.length}] ${this.#flood.name}: ${phase}, ${memory}`);
  }
}

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`abuse: ${(error as Error).stack ?? error}\n`);
  process.exitCode = 1;
}
