/** Finds the JVMs that have a counters file, each with its process if that is visible. */
import { userInfo } from 'node:os';
import { attempt } from '../../base/attempt.ts';
import type { Counters } from './counters.ts';
import { decideLiveness, findLockHolders, type Liveness, type LivenessEvidence } from './liveness.ts';
import {
  fileNameOf,
  listPerfFiles,
  type PerfFile,
  type PerfFilePath,
  type ReadCountersResult,
  readCounters,
} from './perf-file.ts';
import { hasMapped, mountNamespaceOf, type ProcessInfo, pause, readSmall, startedEpochMsOf } from './processes.ts';
import type { SearchContext } from './search-bounds.ts';

export interface Candidate {
  readonly path: PerfFilePath;
  readonly file: PerfFile;
  readonly counters: Counters;
  readonly process: ProcessInfo | undefined;
  readonly liveness: Liveness;
  readonly evidence: LivenessEvidence;
}

export interface Surroundings extends SearchContext {
  readonly tmpPath: string;
  readonly processes: readonly ProcessInfo[];
  /** `jvm.user`: a name, or a number. */
  readonly user?: string | undefined;
  /** Users that the JVM may belong to: our own, and those that listen on the upstream's port. */
  readonly uids: ReadonlySet<number>;
}

/** `path` may have `*` as its user. */
export type Failure = Exclude<ReadCountersResult, { kind: 'counters' }> & { readonly path: PerfFilePath };

type CandidateResult = { readonly kind: 'candidate'; readonly candidate: Candidate } | Failure;

/** The clock may have been changed by this much since the JVM's start. */
const START_TOLERANCE_MS = 10_000;

/** The counters file of a process, in our /tmp, or in its own if it has another mount namespace. */
export async function findOfProcess(around: Surroundings, process: ProcessInfo): Promise<CandidateResult> {
  const { procPath, tmpPath } = around;
  const ownNamespace = mountNamespaceOf(procPath, 'self');
  const isSameNamespace = ownNamespace !== undefined && mountNamespaceOf(procPath, process.pid) === ownNamespace;
  const uids = new Set([process.uid]);
  const users = findKnownUsers(around, uids, process.pid);
  const anyPath = { tmp: tmpPath, user: '*', nspid: process.nspid };
  let worst: Failure = { kind: 'absent', path: anyPath };
  for (const tmp of isSameNamespace ? [tmpPath] : [tmpPath, `${procPath}/${process.pid}/root/tmp`]) {
    const list = await listPerfFiles(around, tmp, users);
    if (list === 'denied') {
      if (tmp !== tmpPath) worst = { kind: 'denied', uid: process.uid, path: { ...anyPath, tmp } };
      continue;
    }
    for (const path of list.filter(({ nspid }) => nspid === process.nspid)) {
      const result = await readCandidate(around, path, [process], uids);
      if (result.kind === 'candidate') {
        if (result.candidate.process !== undefined) return result;
        continue;
      }
      // A file with the same pid that belongs to another user is not this process's.
      const isOfProcess = result.kind !== 'absent' && (result.kind !== 'denied' || result.uid === process.uid);
      if (isOfProcess && worst.kind !== 'denied') worst = result;
    }
  }
  return worst;
}

/** Reads a file, and finds its process in `processes`. Waits for an incomplete file only of `likelyUids`. */
export async function readCandidate(
  around: Surroundings,
  path: PerfFilePath,
  processes: readonly ProcessInfo[] = around.processes,
  likelyUids: ReadonlySet<number> = around.uids,
): Promise<CandidateResult> {
  const result = await readCounters(around, path, (uid) => likelyUids.has(uid));
  if (result.kind !== 'counters') return { ...result, path };
  const { file, counters } = result;
  let process: ProcessInfo | undefined;
  for (const one of processes) {
    if (!(await isOf(around, one, { path, file, counters }))) continue;
    process = one;
    break;
  }
  const alive = await decideLiveness(around, { process, file, counters });
  return { kind: 'candidate', candidate: { path, file, counters, process, ...alive } };
}

/**
 * Whether a process wrote that file. Pid and user are not enough: the JVM may be dead and its pid reused, or it may run
 * in another container where the same pids are in use.
 */
async function isOf(
  around: Surroundings,
  process: ProcessInfo,
  { path, file, counters: { startedEpochMs } }: Pick<Candidate, 'path' | 'file' | 'counters'>,
): Promise<boolean> {
  if (process.nspid !== path.nspid || process.uid !== file.uid) return false;
  const { pids: holders, isExact } = await findLockHolders(around, file);
  if (isExact && holders.includes(process.pid)) return true;
  const mapped = await hasMapped(around, process.pid, fileNameOf(path));
  if (mapped !== undefined) return mapped;
  // Another visible process wrote it; this one only has the same pid and user.
  if (isExact && holders.length > 0) return false;
  const processStart = startedEpochMsOf(around.procPath, process);
  if (processStart === undefined || startedEpochMs === undefined) return true;
  return processStart <= startedEpochMs + START_TOLERANCE_MS;
}

export type Survey = Awaited<ReturnType<typeof findAll>>;

/** All JVMs with a counters file in our /tmp or in the /tmp of a visible process, each once. */
export async function findAll(around: Surroundings) {
  const { paths, deniedProcesses } = await listEverywhere(around);
  const candidates = new Map<string, Candidate>();
  const failures: Failure[] = [];
  for (const [index, path] of paths.entries()) {
    await pause(index, around.signal);
    const result = await readCandidate(around, path);
    if (result.kind !== 'candidate') {
      failures.push(result);
      continue;
    }
    const { candidate } = result;
    // In another /tmp, a file without a visible process is skipped: that /tmp can be read only through its process.
    if (path.tmp !== around.tmpPath && candidate.process === undefined) continue;
    const key = `${candidate.file.device}:${candidate.file.inode}`;
    if (candidates.has(key)) continue;
    // A file in another /tmp was found through any process there. The JVM's own root exists as long as the JVM.
    const tmp = path.tmp === around.tmpPath ? path.tmp : `${around.procPath}/${candidate.process?.pid}/root/tmp`;
    candidates.set(key, { ...candidate, path: { ...path, tmp } });
  }
  return { candidates: [...candidates.values()], failures, deniedProcesses };
}

async function listEverywhere(around: Surroundings) {
  const { procPath, tmpPath, processes, bounds, signal, uids } = around;
  const own = await listPerfFiles(around, tmpPath, findKnownUsers(around, uids));
  const paths = own === 'denied' ? [] : [...own];
  const deniedProcesses: ProcessInfo[] = [];
  const seen = new Set([mountNamespaceOf(procPath, 'self')]);
  for (const [index, process] of processes.entries()) {
    await pause(index, signal);
    const namespace = mountNamespaceOf(procPath, process.pid);
    if (namespace !== undefined && seen.has(namespace)) continue;
    const users = findKnownUsers(around, new Set([...uids, process.uid]), process.pid);
    const list = await listPerfFiles(around, `${procPath}/${process.pid}/root/tmp`, users);
    if (list === 'denied') {
      deniedProcesses.push(process);
      continue;
    }
    paths.push(...bounds.cut(list, 'filesInAll', paths.length));
    if (namespace !== undefined) seen.add(namespace);
  }
  return { paths, deniedProcesses };
}

/** For messages: the pid that `jvm.pid` accepts. */
export function describeCandidate({ path, process, counters }: Candidate) {
  return { pid: process?.pid ?? path.nspid, user: path.user, command: counters.command?.name ?? 'unknown' };
}

/** Several names for one user id are rare, but a container's passwd file may contain anything. */
const MAX_USERS = 16;
const FOLDER_PART = /^[^/\0]{1,255}$/;

/**
 * The users whose folders `hsperfdata_<name>` are opened by name, before all others: any user of the machine may create
 * more such folders than a search visits. `jvm.user` first, then the names of `uids` in our passwd file and in that of
 * the process `pid`, whose container may have its own: e.g. `['tomcat']`. Our own name comes from the system, which may
 * use a directory service.
 */
export function findKnownUsers({ procPath, user }: Surroundings, uids: ReadonlySet<number>, pid?: number): string[] {
  const names = new Set<string>();
  if (user !== undefined) names.add(user);
  // Undefined for a user id without a name.
  const own = attempt(() => userInfo());
  if (own !== undefined && uids.has(own.uid)) names.add(own.username);
  for (const process of pid === undefined ? ['self'] : ['self', pid]) {
    for (const line of (readSmall(`${procPath}/${process}/root/etc/passwd`) ?? '').split('\n')) {
      const [name = '', , uid = ''] = line.split(':', 3);
      if (/^\d+$/.test(uid) && uids.has(Number(uid))) names.add(name);
    }
  }
  return [...names].filter((name) => FOLDER_PART.test(name)).slice(0, MAX_USERS);
}
