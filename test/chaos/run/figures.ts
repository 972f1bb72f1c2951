/** Memory and descriptors of a process, from /proc (proc(5)). */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { spreadOf } from '../../bench/load/statistics.ts';

export interface Figures {
  readonly residentBytes: number;
  readonly descriptors: number;
}

const SAMPLES = 7;
const SAMPLE_MS = 100;

export function figuresOf(pid: number): Figures {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1');
  const kilobytes = Number(/^Rss:\s+(\d+) kB$/m.exec(rollup)?.[1]);
  if (!Number.isFinite(kilobytes)) throw new Error(`no Rss of process ${pid}`);
  return { residentBytes: kilobytes * 1_024, descriptors: readdirSync(`/proc/${pid}/fd`).length };
}

export async function steadyFiguresOf(pid: number): Promise<Figures> {
  const samples: Figures[] = [];
  for (let i = 0; i < SAMPLES; i += 1) {
    samples.push(figuresOf(pid));
    await sleep(SAMPLE_MS);
  }
  const median = (read: (figures: Figures) => number) => spreadOf(samples.map(read))?.median ?? 0;
  return { residentBytes: median((one) => one.residentBytes), descriptors: median((one) => one.descriptors) };
}
