import { countDescriptors, readMaxDescriptors } from '../base/descriptors.ts';
import { readAside } from './hsperfdata/processes.ts';
import type { ServerProcess } from './server-reading.ts';

/** Field 22 of /proc/<pid>/stat, counted after the name; 14 and 15 are the processor time (proc(5)). */
const [START_TICKS, USER_TICKS, SYSTEM_TICKS] = [19, 11, 12];
/** `getconf CLK_TCK`: 100 on every Linux that Node.js runs on. */
const TICKS_PER_S = 100;
const BYTES_PER_KB = 1_024;

/**
 * The process of the server according to /proc; undefined if it has ended, or if its pid was reused. Only its own user
 * and root can see its descriptors.
 */
export async function readServerProcess(
  procPath: string,
  pid: number,
  startTicks: number | undefined,
): Promise<ServerProcess | undefined> {
  const folder = `${procPath}/${pid}`;
  const [text, status, openDescriptors] = await Promise.all([
    readAside(`${folder}/stat`),
    readAside(`${folder}/status`),
    countDescriptors(`${folder}/fd`),
  ]);
  // The name is in parentheses, and may contain some.
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ') ?? [];
  const numberAt = (index: number) => parseNumber(fields[index]);
  const started = numberAt(START_TICKS);
  if (started === undefined || (startTicks !== undefined && started !== startTicks)) return undefined;
  const [user, system] = [numberAt(USER_TICKS), numberAt(SYSTEM_TICKS)];
  const residentKb = parseNumber(/^VmRSS:\s+(\d+) kB$/m.exec(status ?? '')?.[1]);
  return {
    id: `${pid} ${started}`,
    cpuSeconds: user === undefined || system === undefined ? undefined : (user + system) / TICKS_PER_S,
    residentBytes: residentKb === undefined ? undefined : residentKb * BYTES_PER_KB,
    openDescriptors,
    maxDescriptors: readMaxDescriptors(`${folder}/limits`),
    processors: await processorsOf(folder, status ?? ''),
  };
}

/** As the JVM counts them: the processors that it may run on, up to the quota of its control group (version 2). */
async function processorsOf(folder: string, status: string): Promise<number | undefined> {
  const list = /^Cpus_allowed_list:\s+([\d,-]+)$/m.exec(status)?.[1];
  if (list === undefined) return undefined;
  const allowed = list.split(',').reduce((sum, range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return sum + last - first + 1;
  }, 0);
  const group = /^0::(\/.*)$/m.exec((await readAside(`${folder}/cgroup`)) ?? '')?.[1] ?? '/';
  const [quota, period] = ((await readAside(`/sys/fs/cgroup${group}/cpu.max`)) ?? 'max').split(' ').map(Number);
  return quota !== undefined && period !== undefined && quota > 0 ? Math.min(allowed, quota / period) : allowed;
}

function parseNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
