/**
 * The cost of the state file with full tables: `npx vitest bench --run test/bench/state.bench.ts`. Prints size, times and the
 * longest blocking of the event loop; the benches repeat save and restore.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, bench, describe } from 'vitest';
import { NS_PER_MS, systemClock } from '../../src/base/clock.ts';
import { openFullState, openState } from './full-tables.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'd2-sidecar-bench-'));
const file = path.join(folder, 'state');
const { keeper } = await openFullState(file);

const delay = monitorEventLoopDelay({ resolution: 1 });
for (let i = 0; i < 5; i += 1) {
  delay.reset();
  delay.enable();
  await keeper.save();
  delay.disable();
  const { durationNs = 0, longestSliceNs = 0 } = keeper.last ?? {};
  const beganNs = systemClock.nowNs();
  const next = await openState(file, systemClock);
  const restoreMs = (systemClock.nowNs() - beganNs) / NS_PER_MS;
  const mib = statSync(file).size / 2 ** 20;
  process.stdout.write(
    `${mib.toFixed(1)} MiB; saved in ${ms(durationNs)}, longest slice ${ms(longestSliceNs)}, loop late by at most ${ms(delay.max)}; ` +
      `${next.keeper.restored} in ${restoreMs.toFixed(0)} ms\n`,
  );
  next.made.destroy();
}

function ms(ns: number): string {
  return `${(ns / NS_PER_MS).toFixed(1)} ms`;
}

afterAll(() => rmSync(folder, { recursive: true }));

describe('full tables', () => {
  const few = { iterations: 5, warmupIterations: 1, time: 0, warmupTime: 0 };
  bench('saved', () => keeper.save(), few);
  bench(
    'restored',
    async () => {
      const next = await openState(file, systemClock);
      next.made.destroy();
    },
    few,
  );
});
