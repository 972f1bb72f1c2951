/**
 * Finds the application server's JVM on Windows: the process that listens on the upstream's port according to `netstat`,
 * and its counters file. HotSpot opens the file so that Windows deletes it when the JVM ends, however that ends, and so
 * that only the JVM's user and administrators may read it (perfMemory_windows.cpp of the JDK).
 */
import { execFile } from 'node:child_process';
import { win32 } from 'node:path';
import { promisify } from 'node:util';
import { JvmSourceError } from '../jvm-source.ts';
import { type Candidate, describeCandidate, type Failure } from './candidates.ts';
import type { FindJvmOptions, FoundJvm } from './find-jvm.ts';
import { ANY, localAddressesOf } from './listeners.ts';
import { listPerfFiles, pathOf, readCounters } from './perf-file.ts';
import { ambiguous, formatJvmList, unusable } from './refusals.ts';

/** What the search asks of Windows. */
type WindowsSystem = ReturnType<typeof createWindowsSystem>;

/** Some 200,000 connections. */
const MAX_NETSTAT_BYTES = 16 * 1_048_576;
const OR_HTTP = 'or set jvm.http to read the JVM over HTTP.';

export function createWindowsSystem(env: Readonly<Record<string, string | undefined>>) {
  const { SystemRoot = 'C:\\Windows', TMP, TEMP } = env;
  const profiles = ['LocalService', 'NetworkService'].map((name) => `ServiceProfiles\\${name}\\AppData\\Local\\Temp`);
  const ofServices = ['Temp', ...profiles].map((folder) => win32.join(SystemRoot, folder));
  // A bare name would also be found in the current folder.
  const program = win32.join(SystemRoot, 'System32\\netstat.exe');
  const options = { encoding: 'latin1', maxBuffer: MAX_NETSTAT_BYTES, windowsHide: true } as const;
  return {
    /** Temporary folders that a JVM may have: ours, and those of services. */
    folders: [...new Set([TMP, TEMP, ...ofServices])].filter((folder) => folder !== undefined) as readonly string[],
    netstat: async (signal: AbortSignal) =>
      (await promisify(execFile)(program, ['-ano'], { ...options, signal })).stdout,
  };
}

/**
 * Process ids that listen on `port`, at one of `addresses` or, if none does, at all addresses. Windows translates the word
 * LISTENING, so a listening socket is recognised by its foreign port, which is 0.
 */
export function parseNetstat(text: string, addresses: readonly string[], port: number): readonly number[] {
  const exact: number[] = [];
  const any: number[] = [];
  for (const line of text.split('\n')) {
    const [protocol, local = '', foreign = '', ...rest] = line.trim().split(/\s+/);
    if (protocol !== 'TCP' || !foreign.endsWith(':0') || !local.endsWith(`:${port}`)) continue;
    // `[fe80::1%12]:8080`, `0.0.0.0:8080`
    const address = local.slice(0, local.lastIndexOf(':')).replace(/^\[(.*?)(?:%.*)?\]$/, '$1');
    if (addresses.includes(address)) exact.push(Number(rest.at(-1)));
    else if (ANY.has(address)) any.push(Number(rest.at(-1)));
  }
  return [...new Set(exact.length > 0 ? exact : any)];
}

/**
 * Rejects like `findJvm`. Any user may put files into `C:\Windows\Temp`, and Node.js does not see owners there: two files
 * of one process are ambiguous.
 */
export async function findWindowsJvm(
  options: FindJvmOptions,
  signal: AbortSignal,
  system: WindowsSystem,
): Promise<FoundJvm> {
  const { user, bounds, nowNs } = options;
  const pids = options.pid === undefined ? await findOwners(options, system, signal) : [options.pid];
  const context = { procPath: '', bounds, signal, nowNs };
  const found = new Map<string, Candidate>();
  const failures: Failure[] = [];
  for (const folder of system.folders) {
    const list = await listPerfFiles(context, folder, user === undefined ? [] : [user]);
    if (list === 'denied') continue;
    for (const path of list.filter((one) => pids.includes(one.nspid) && (user ?? one.user) === one.user)) {
      const result = await readCounters(context, path);
      if (result.kind !== 'counters') {
        failures.push({ ...result, path });
        continue;
      }
      const { file, counters } = result;
      const evidence = { hadLock: false, ticks: undefined, atNs: nowNs() };
      const candidate: Candidate = { path, file, counters, process: undefined, liveness: 'alive', evidence };
      found.set(`${file.device}:${file.inode}`, candidate);
    }
  }
  const candidates = [...found.values()].map(describeCandidate);
  const [candidate] = found.values();
  if (candidates.length > 1) throw ambiguous(candidates);
  if (candidate === undefined) throw explain(options, pids, failures, system.folders);
  return { candidate, description: formatJvmList(candidates), listenerInodes: new Set() };
}

async function findOwners(
  { upstreamHost = 'localhost', upstreamPort }: FindJvmOptions,
  system: WindowsSystem,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const addresses = localAddressesOf(upstreamHost);
  if (addresses === undefined || upstreamPort === undefined)
    throw notFound(`the upstream’s host ${upstreamHost} is not this machine. Set jvm.pid, ${OR_HTTP}`);
  const pids = parseNetstat(await system.netstat(signal), addresses, upstreamPort);
  if (pids.length > 0) return pids;
  throw notFound(
    `nothing listens on the upstream’s port ${upstreamPort} of this machine. Start the application server.`,
  );
}

function explain(
  { pid, upstreamPort }: FindJvmOptions,
  pids: readonly number[],
  [failure]: readonly Failure[],
  folders: readonly string[],
): JvmSourceError {
  if (failure?.kind === 'denied')
    return new JvmSourceError(
      'D2S_ERR_JVM_ACCESS',
      `Only the JVM’s user and administrators may read its counters file ${pathOf(failure.path)}. Run the sidecar as the user ` +
        `of the application server’s service, ${OR_HTTP}`,
    );
  if (failure !== undefined && failure.kind !== 'absent') return unusable(failure);
  const why = pid === undefined ? `, which listens on the upstream’s port ${upstreamPort},` : ' (jvm.pid)';
  return notFound(
    `process ${pids.join(', ')}${why} has no counters file hsperfdata_*\\${pids[0]} that this user can see in ` +
      `${folders.join(', ')}. A JVM writes none with -XX:-UsePerfData or -XX:+PerfDisableSharedMem; other users see ` +
      `nothing of some of these folders. Run the sidecar as the user of the application server’s service, ${OR_HTTP}`,
  );
}

function notFound(why: string): JvmSourceError {
  return new JvmSourceError('D2S_ERR_JVM_NOT_FOUND', `No JVM found: ${why}`);
}
