/**
 * The cost of a start with full tables: `npm run build && npx vitest run --config test/bench/vitest.config.ts
 * test/bench/state-start-load.ts`. Starts `dist/main.js` in turn without a state file and with one of full tables, and prints
 * processor time and time to the line `listening`: median, least and most.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { flagsFor, startSidecarProcess } from '../support/sidecar-process.ts';
import { openFullState } from './full-tables.ts';
import { cpuUsOf } from './load/proc.ts';
import { type Spread, spreadOf, toText } from './load/statistics.ts';

const ROUNDS = 9;
/** Several times the real value: on a busy machine only a gross loss can be detected. */
const MAX_CPU_MS = 4_000;

const folder = mkdtempSync(path.join(tmpdir(), 'd2-sidecar-start-'));
const file = path.join(folder, 'state');
afterAll(() => rmSync(folder, { recursive: true }));

interface Start {
  readonly cpuMs: number;
  readonly wallMs: number;
  /** The result of restoring the file, from the log. */
  readonly restored: boolean;
}

async function start(env: Readonly<Record<string, string>>): Promise<Start> {
  const beganMs = performance.now();
  const sidecar = await startSidecarProcess(flagsFor(1), { D2_SIDECAR_JVM_SOURCE: 'none', ...env });
  const wallMs = performance.now() - beganMs;
  const cpuMs = cpuUsOf(sidecar.pid) / 1_000;
  const restored = sidecar.logs.some(({ msg }) => msg === 'state restored');
  // Not by SIGTERM: it would save, and the next start would have a newer file.
  await sidecar.stop('SIGKILL');
  return { cpuMs, wallMs, restored };
}

it('starts with full tables', async () => {
  const { made, keeper } = await openFullState(file);
  await keeper.save();
  made.destroy();
  const empty: Start[] = [];
  const full: Start[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    empty.push(await start({}));
    full.push(await start({ D2_SIDECAR_STATE_FILE: file }));
  }
  for (const [name, starts] of Object.entries({ 'no state file': empty, 'full tables': full })) {
    const text = (of: 'cpuMs' | 'wallMs') => toText(spreadOf(starts.map((one) => one[of])) as Spread, 0);
    process.stdout.write(`${name}: processor time ${text('cpuMs')} ms, to listening ${text('wallMs')} ms\n`);
  }
  process.stdout.write(`${(statSync(file).size / 2 ** 20).toFixed(1)} MiB\n`);
  expect(full.every(({ restored }) => restored)).toBe(true);
  expect(Math.min(...full.map(({ cpuMs }) => cpuMs))).toBeLessThan(MAX_CPU_MS);
});
