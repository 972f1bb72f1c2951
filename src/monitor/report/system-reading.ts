import { readFile } from 'node:fs/promises';
import os from 'node:os';

/** Files of version 2, then of version 1. */
const CGROUP_FILES: readonly (readonly [name: string, path: string])[] = [
  ['memory.max', 'memory.max'],
  ['memory.high', 'memory.high'],
  ['memory.current', 'memory.current'],
  ['memory.events', 'memory.events'],
  ['cpu.max', 'cpu.max'],
  ['cpu.stat', 'cpu.stat'],
  ['pids.max', 'pids.max'],
  ['memory.limit_in_bytes', 'memory/memory.limit_in_bytes'],
  ['memory.usage_in_bytes', 'memory/memory.usage_in_bytes'],
  ['cpu.cfs_quota_us', 'cpu/cpu.cfs_quota_us'],
  ['cpu.cfs_period_us', 'cpu/cpu.cfs_period_us'],
];
const CGROUP_ROOT = '/sys/fs/cgroup';
const MAX_TEXT_CHARS = 1_000;
const LIMITS = /^Max (?:open files|processes|locked memory|core file size) .*$/gm;

/** The machine, and the limits of this process on it. Omits host name and addresses. */
export async function readSystem(): Promise<object> {
  const [release, limits, cgroup] = await Promise.all([
    readText('/etc/os-release'),
    readText('/proc/self/limits'),
    readCgroup(),
  ]);
  return {
    platform: process.platform,
    architecture: process.arch,
    distribution: /^PRETTY_NAME="?([^"\n]*)/m.exec(release ?? '')?.[1] ?? null,
    kernel: os.release(),
    cpus: os.availableParallelism(),
    loadAverage: os.loadavg(),
    memoryBytes: { total: os.totalmem(), free: os.freemem() },
    uptimeSeconds: os.uptime(),
    cgroup,
    // Selected lines of /proc/self/limits.
    limits: (limits?.match(LIMITS) ?? []).map((line) => line.replace(/\s+/g, ' ').trim()),
  };
}

async function readCgroup(): Promise<Record<string, string>> {
  // In a container the process sees its own group as the root; outside, its group is below the root.
  const own = /^0::(\/.*)$/m.exec((await readText('/proc/self/cgroup')) ?? '')?.[1] ?? '';
  const found: Record<string, string> = {};
  for (const [name, path] of CGROUP_FILES) {
    const text = (await readText(`${CGROUP_ROOT}${own}/${path}`)) ?? (await readText(`${CGROUP_ROOT}/${path}`));
    if (text !== undefined) found[name] = text.trim().slice(0, MAX_TEXT_CHARS);
  }
  return found;
}

/** Undefined if the file is missing or not readable. */
async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return undefined;
  }
}
