/**
 * The cost of reading Comet: one client with 1,000 subscribed objects gets 5,000 values a second over a compressed WebSocket,
 * through a sidecar that reads it and, alternating, through one that does not. Meanwhile other users call over REST.
 *
 *   npm run build && npx vitest run --config test/bench/vitest.config.ts
 *
 * Compare the two only within one run. `COMET_LOAD_ROUNDS` (default 4) pairs of rounds of `COMET_LOAD_SECONDS` (default 8) each.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CometSidecar, startCometSidecar } from '../support/comet/comet-sidecar.ts';
import { CometdPeer } from '../support/comet/cometd-peer.ts';
import type { Browser } from '../support/comet/peer.ts';
import { until } from '../support/comet/until.ts';
import { startWebSocketPlant, type WebSocketPlant } from '../support/comet/websocket-plant.ts';

const ROUNDS = Number(process.env.COMET_LOAD_ROUNDS ?? 4);
const SECONDS = Number(process.env.COMET_LOAD_SECONDS ?? 8);
const WARM_UP_SECONDS = 2;
const OBJECTS = Array.from({ length: 1_000 }, (_, i) => `H.Plant.Unit${i % 40}.Measurement${i}`);
const VALUES_PER_SECOND = 5_000;
const TICK_MS = 10;
/** Of Linux on all usual machines (`getconf CLK_TCK`). */
const TICKS_PER_SECOND = 100;

const PROBER = fileURLToPath(new URL('./rest-prober.mjs', import.meta.url));

interface Latencies {
  readonly count: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly maxUs: number;
}

interface Load {
  readonly valuesPerMessage: number;
  readonly valuesPerSecond: number;
}

interface Round {
  /** Processor time of the sidecar, as a share of one core. */
  readonly coreShare: number;
  readonly valuesPerSecond: number;
  readonly rest: Latencies;
}

let plant: WebSocketPlant;
let reading: CometSidecar;
let passing: CometSidecar;

beforeAll(async () => {
  plant = await startWebSocketPlant({ deflate: { threshold: 0 }, holdMs: 30_000, isPlain: true });
  reading = await startCometSidecar(plant.port);
  passing = await startCometSidecar(plant.port, { comet: { enabled: false } });
});

afterAll(async () => {
  await Promise.all([reading.close(), passing.close()]);
  await plant.close();
});

it.each<[string, Load]>([
  [
    '10 values in a message, like a server that collects values',
    { valuesPerMessage: 10, valuesPerSecond: VALUES_PER_SECOND },
  ],
])('%s', async (name, load) => {
  const rounds: { on: Round[]; off: Round[] } = { on: [], off: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    // The first one alternates, so that a machine that slows down affects both alike.
    const order = round % 2 === 0 ? (['on', 'off'] as const) : (['off', 'on'] as const);
    for (const way of order) {
      const measured = await measure(way === 'on' ? reading : passing, load);
      rounds[way].push(measured);
      print(`  ${way.padEnd(3)} ${show(measured)}`);
    }
  }
  report(`${name}: median of ${ROUNDS} rounds of ${SECONDS} s`, rounds);
  for (const { valuesPerSecond } of [...rounds.on, ...rounds.off]) {
    expect(valuesPerSecond).toBeGreaterThan(load.valuesPerSecond * 0.95);
  }
});

async function measure({ origin, process: { pid } }: CometSidecar, load: Load): Promise<Round> {
  const browser: Browser = {
    userName: 'load',
    cookies: new Map(),
    fields: {},
    ext: { authentication: { user: 'load' } },
  };
  const webSocket = { perMessageDeflate: { threshold: 0 } };
  const peer = new CometdPeer(origin, browser, { transport: 'websocket', webSocket });
  await peer.connect();
  await Promise.all(OBJECTS.map((object) => peer.monitor(object, 'channel')));
  const prober = fork(PROBER, [`${origin}/smartWeb/api/rest/v0/d2/rpc/E.Load/Probe`]);
  await once(prober, 'spawn');
  const stopPushing = push(load);
  await wait(WARM_UP_SECONDS * 1_000);
  prober.send('start');
  const before = figuresOf(pid, peer);
  await wait(SECONDS * 1_000);
  const after = figuresOf(pid, peer);
  const rest = await latenciesOf(prober);
  const pushed = stopPushing();
  await until('all values have come', () => peer.tally.valueCount >= pushed);
  prober.kill();
  await peer.disconnect();
  const elapsedS = (after.atMs - before.atMs) / 1_000;
  return {
    coreShare: (after.cpuS - before.cpuS) / elapsedS,
    valuesPerSecond: (after.values - before.values) / elapsedS,
    rest,
  };
}

/** Pushes at the given rate, however late the timers are, until the returned function is called, which returns the number of values. */
function push({ valuesPerMessage, valuesPerSecond }: Load): () => number {
  const beganMs = performance.now();
  let pushed = 0;
  const timer = setInterval(() => {
    const wanted = Math.floor(((performance.now() - beganMs) / 1_000) * valuesPerSecond);
    while (pushed + valuesPerMessage <= wanted) {
      const next = Array.from({ length: valuesPerMessage }, (_, i) => OBJECTS[(pushed + i) % OBJECTS.length] as string);
      plant.pushTogether(next);
      pushed += valuesPerMessage;
    }
  }, TICK_MS);
  return () => {
    clearInterval(timer);
    return pushed;
  };
}

function figuresOf(pid: number, { tally }: CometdPeer): { cpuS: number; values: number; atMs: number } {
  return { cpuS: processorSecondsOf(pid), values: tally.valueCount, atMs: performance.now() };
}

/** User and system time of a process so far; proc(5), fields 14 and 15, after the command's name in parentheses. */
function processorSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

async function latenciesOf(prober: ChildProcess): Promise<Latencies> {
  const told = once(prober, 'message');
  prober.send('stop');
  const [latencies] = (await told) as [Latencies];
  return latencies;
}

function report(title: string, { on, off }: { on: readonly Round[]; off: readonly Round[] }): void {
  const figure = (rounds: readonly Round[], of: (round: Round) => number) => median(rounds.map(of));
  const perValueUs = (rounds: readonly Round[]) =>
    figure(rounds, (round) => (round.coreShare / round.valuesPerSecond) * 1_000_000);
  const readingUs = perValueUs(on) - perValueUs(off);
  const core = { on: figure(on, (round) => round.coreShare), off: figure(off, (round) => round.coreShare) };
  const line = (what: string, of: (round: Round) => number) =>
    print(
      `  ${what.padEnd(24)} reading ${figure(on, of).toFixed(0).padStart(7)}   not reading ${figure(off, of).toFixed(0).padStart(7)}`,
    );
  print(title);
  print(`  share of one core        reading ${percent(core.on)}   not reading ${percent(core.off)}`);
  const atRate = percent((readingUs * VALUES_PER_SECOND) / 1_000_000).trim();
  print(`  ratio                    ${(perValueUs(on) / perValueUs(off)).toFixed(2)} (processor time for a value)`);
  print(`  reading costs            ${readingUs.toFixed(1)} µs a value: ${atRate} of a core at ${VALUES_PER_SECOND}/s`);
  line('values per second', (round) => round.valuesPerSecond);
  line('REST p50 (µs)', ({ rest }) => rest.p50Us);
  line('REST p99 (µs)', ({ rest }) => rest.p99Us);
}

function show({ coreShare, valuesPerSecond, rest }: Round): string {
  const { count, p50Us, p99Us, maxUs } = rest;
  const values = `${valuesPerSecond.toFixed(0)} values/s`;
  return `${percent(coreShare)} of a core, ${values}, REST ${count} calls, p50 ${p50Us} p99 ${p99Us} max ${maxUs} µs`;
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low, high] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1).padStart(6)} %`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
