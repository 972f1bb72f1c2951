import { cpuUsOf, residentBytesOfTree } from '../../../support/load/proc.ts';
import type { Sample } from '../results.ts';
import { type Load, runWrk } from '../wrk.ts';
import type { Turn } from './workload.ts';

const MB = 2 ** 20;

/** `port`: where the load goes, if not to the contestant itself. */
export async function measureLoad(
  { rig, running, seconds }: Turn,
  load: Load,
  port = running.spot.port,
): Promise<Sample & { p99Us: number }> {
  const before = cpuUsOf(running.pid);
  const { requests, durationUs, errors, p50Us, p99Us } = await runWrk(rig.processes, port, load, seconds);
  const cpuUs = cpuUsOf(running.pid) - before;
  if (requests === 0) throw new Error('answered no request at all');
  return {
    requests,
    errors,
    cpuUs: cpuUs / requests,
    perSecond: requests / (durationUs / 1e6),
    p50Us,
    p99Us,
    rssMb: residentMb(running.pid),
  };
}

export function residentMb(pid: number): number {
  return residentBytesOfTree(pid) / MB;
}
