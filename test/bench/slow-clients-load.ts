/**
 * The cost of slow clients for others: slowhttptest holds 2,000 connections for 60 s, by slow headers, slow bodies and slow reading, while
 * 20 users call. Their latencies are compared with those of the same users on the same sidecar without slow clients, half of them
 * measured before the attack and half after it. Needs Debian's `slowhttptest` and an idle machine.
 *
 *   npm run build && npx vitest run --config test/bench/vitest.config.ts slow-clients
 *
 * Set with `SLOW_CONNECTIONS`, `SLOW_SECONDS`, and `SLOW_DATA_PATH` (auto, gateway, or both, the default). Timeouts are so
 * long that no slow client is ended meanwhile: shorter ones only make it easier. The attacker gets the last core, all others the rest:
 * its own need for processor time is not measured.
 */
import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { ATTACKS, type Attack, isSlowHttpTestInstalled, startAttack } from '../support/slow-clients/slow-http-test.ts';
import { type Served, SlowClientHarness } from '../support/slow-clients/slow-stand.ts';
import { cpuUsOf } from './load/proc.ts';

const CONNECTIONS = Number(process.env.SLOW_CONNECTIONS ?? 2_000);
const SECONDS = Number(process.env.SLOW_SECONDS ?? 60);
const DATA_PATHS = process.env.SLOW_DATA_PATH?.split(',') ?? ['auto', 'gateway'];
const LAST_CORE = cpus().length - 1;
const USERS = 20;
const PAUSE_MS = 50;
/** On loopback the kernel buffers 2.5 MB for a client that reads nothing, on other networks about this. */
const LARGE_BYTES = 128 * 1_024;
const NO_END = { D2_SIDECAR_TIMEOUTS_HEAD: '1h', D2_SIDECAR_TIMEOUTS_IDLE: '1h' };
const WARM_UP_MS = 3_000;
/** Between two pieces of a head or a body: slowhttptest's default. */
const INTERVAL_SECONDS = 10;
/** Four times its default rate; the last connections open after 10 s. */
const RATE = 200;

const COLUMNS = [
  ...['held', 'p50 without', 'with', 'ratio', 'p99 without', 'with', 'ratio', 'calls', 'failed'],
  ...['cpu % without', 'with'],
];

const lines: string[] = [];

afterAll(() => {
  const title = `${CONNECTIONS} slow connections for ${SECONDS} s, ${USERS} other users; latencies in ms, processor of the sidecar in % of a core`;
  const head = 'data path, attack'.padEnd(26) + toColumns(COLUMNS);
  process.stdout.write(`\n${[title, head, ...lines].join('\n')}\n`);
});

it.each(DATA_PATHS.flatMap((path) => ATTACKS.map((attack) => [path, attack] as const)))(
  '%s: %s',
  async (path, attack) => {
    expect(isSlowHttpTestInstalled(), 'slowhttptest is not installed').toBe(true);
    const harness = await SlowClientHarness.start({
      largeBytes: LARGE_BYTES,
      users: USERS,
      pauseMs: PAUSE_MS,
      env: { ...NO_END, D2_SIDECAR_DATA_PATH: path },
    });
    if (LAST_CORE > 0) for (const pid of harness.pids) pin(pid, `0-${LAST_CORE - 1}`);
    try {
      await harness.served(() => wait(WARM_UP_MS));
      const before = await measure(harness, SECONDS / 2);
      const { held, during } = await underAttack(harness, attack);
      const behind = await measure(harness, SECONDS / 2);
      const quiet = {
        latenciesUs: [...before.latenciesUs, ...behind.latenciesUs],
        corePercent: (before.corePercent + behind.corePercent) / 2,
      };
      lines.push(toLine(`${path}, ${attack}`, held, quiet, during));
      process.stdout.write(`${lines.at(-1)}\n`);
      expect([...before.failures, ...during.failures, ...behind.failures]).toEqual([]);
      expect(held).toBeGreaterThan(CONNECTIONS * 0.99);
    } finally {
      await harness.close();
    }
  },
);

interface Measured extends Served {
  readonly corePercent: number;
}

async function measure(
  harness: SlowClientHarness,
  seconds: number,
  beforeEnd?: () => Promise<void>,
): Promise<Measured> {
  const { pid } = harness.sidecar;
  const [beforeUs, beganMs] = [cpuUsOf(pid), performance.now()];
  const served = await harness.served(async () => {
    await wait(seconds * 1_000);
    await beforeEnd?.();
  });
  return { ...served, corePercent: (cpuUsOf(pid) - beforeUs) / 10 / (performance.now() - beganMs) };
}

/** Measures from the first slow connection on, while the others open, too. */
async function underAttack(harness: SlowClientHarness, kind: Attack): Promise<{ held: number; during: Measured }> {
  const attack = startAttack({
    ...{ attack: kind, port: harness.port, connections: CONNECTIONS, rate: RATE },
    ...{ seconds: SECONDS + 10, intervalSeconds: INTERVAL_SECONDS, cores: String(LAST_CORE) },
  });
  let held = 0;
  try {
    const during = await measure(harness, SECONDS, async () => {
      held = (await harness.sample('d2_sidecar_connections')) - USERS;
    });
    return { held, during };
  } finally {
    await attack.stop();
  }
}

type Figures = Pick<Measured, 'latenciesUs' | 'corePercent'>;

function toLine(name: string, held: number, quiet: Figures, during: Measured): string {
  const latencies = [0.5, 0.99].flatMap((share) => {
    const [one, other] = [at(quiet.latenciesUs, share), at(during.latenciesUs, share)];
    return [(one / 1_000).toFixed(2), (other / 1_000).toFixed(2), (other / one).toFixed(2)];
  });
  const calls = [during.latenciesUs.length, during.failures.length].map(String);
  const cpu = [quiet.corePercent, during.corePercent].map((percent) => percent.toFixed(1));
  return name.padEnd(26) + toColumns([String(held), ...latencies, ...calls, ...cpu]);
}

function toColumns(texts: readonly string[]): string {
  return texts.map((text) => text.padStart(14)).join('');
}

/** Restricts all threads of a process to these cores, e.g. `0-2`. */
function pin(pid: number, cores: string): void {
  execFileSync('taskset', ['-a', '-p', '-c', cores, String(pid)], { stdio: 'ignore' });
}

function at(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
