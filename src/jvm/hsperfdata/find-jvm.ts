/**
 * Finds the application server's JVM, and never guesses: by `jvm.pid`, else by the process that listens on the
 * upstream's port, else by the counters files that name a Tomcat or WildFly.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { platform } from '../../base/platform/platform.ts';
import { JvmSourceError } from '../jvm-source.ts';
import {
  type Candidate,
  describeCandidate,
  type Failure,
  findAll,
  findKnownUsers,
  findOfProcess,
  readCandidate,
  type Surroundings,
  type Survey,
} from './candidates.ts';
import { findListeners, type Listener } from './listeners.ts';
import { decideLiveness, TICKS_MOVE_WITHIN_MS } from './liveness.ts';
import { listPerfFiles, type PerfFilePath, pathOf, readCounters } from './perf-file.ts';
import { findHolders, looksLikeJvm, type ProcessInfo, readProcess, readProcesses } from './processes.ts';
import { ambiguous, createFailureError, denied, deniedToUser, formatJvmList, type OwnRights } from './refusals.ts';
import type { SearchBounds } from './search-bounds.ts';

export interface FindJvmOptions {
  /** `jvm.pid`: in our own pid namespace, or in the JVM's if its processes are not visible. */
  readonly pid?: number | undefined;
  /** `jvm.user`: the JVM's user by name, as in `hsperfdata_tomcat`, or by number. */
  readonly user?: string | undefined;
  readonly upstreamHost?: string | undefined;
  readonly upstreamPort?: number | undefined;
  readonly procPath?: string | undefined;
  readonly tmpPath?: string | undefined;
  readonly nowNs: () => number;
  /** Counts what the search skipped. */
  readonly bounds: SearchBounds;
}

export interface FoundJvm {
  readonly candidate: Candidate;
  /** For people, e.g. `pid 812 (user tomcat, org.apache.catalina.startup.Bootstrap)`, and why it was chosen if that may be wrong. */
  readonly description: string;
  /** The listening sockets of the upstream's port when the JVM was found. Different sockets may mean another JVM. */
  readonly listenerInodes: ReadonlySet<string>;
}

interface Choice {
  readonly candidate: Candidate;
  /** Another process has the upstream's port: the JVM may serve another one. */
  readonly insteadOf?: ProcessInfo | undefined;
}

interface Search extends Surroundings, Pick<FindJvmOptions, 'upstreamHost' | 'upstreamPort'> {
  readonly own: OwnRights;
  /** Undefined if the port is unknown or belongs to another machine. */
  readonly listeners: readonly Listener[] | undefined;
}

/** Rejects with a `JvmSourceError` that says what to change: `_NOT_FOUND`, `_AMBIGUOUS`, `_ACCESS`, `_FORMAT`. */
export async function findJvm(options: FindJvmOptions, signal: AbortSignal): Promise<FoundJvm> {
  const { procPath = '/proc', tmpPath = '/tmp' } = options;
  const processes = await readProcesses({ ...options, procPath, signal });
  const own = readProcess(procPath, 'self') ?? {
    uid: platform.userId() ?? -1,
    gid: process.getegid?.() ?? -1,
    effectiveCapabilities: 0n,
  };
  const listeners = await listenersOf(options);
  const uids = new Set([own.uid, ...(listeners ?? []).map(({ uid }) => uid)]);
  const search: Search = { ...options, procPath, tmpPath, signal, processes, own, listeners, uids };
  const choice = options.pid === undefined ? await findUnnamed(search) : await findByPid(search, options.pid);
  const { candidate, insteadOf: other } = choice;
  const why = other
    ? `, the only application server here: pid ${other.pid} (${other.name}), which listens on the upstream’s port ${options.upstreamPort}, is no JVM`
    : '';
  const description = formatJvmList([describeCandidate(candidate)]) + why;
  return { candidate, description, listenerInodes: inodesOf(listeners) };
}

/** The current listeners on the upstream's port; undefined if there is no port, or its host is not this machine. */
export async function listenersOf(options: Omit<FindJvmOptions, 'nowNs'>): Promise<Listener[] | undefined> {
  const { procPath = '/proc', upstreamHost = 'localhost', upstreamPort, bounds } = options;
  return upstreamPort === undefined ? undefined : findListeners({ procPath, bounds }, upstreamHost, upstreamPort);
}

function inodesOf(listeners: readonly Listener[] | undefined): ReadonlySet<string> {
  return new Set(listeners?.map(({ inode }) => inode));
}

async function findByPid(search: Search, pid: number): Promise<Choice> {
  const visible = search.processes.find((one) => one.pid === pid);
  const result = visible === undefined ? undefined : await findOfProcess(search, visible);
  if (result?.kind === 'candidate') return result;
  // If the JVM's processes are not visible, e.g. in another container, the pid can only be the one in the file's name.
  const candidates = await findInvisible(search, pid);
  const [candidate, another] = candidates;
  if (another !== undefined) {
    const users = candidates.map(({ path }) => path.user).join(', ');
    const message = `More than one user has a JVM with pid ${pid}: ${users}. Set jvm.user, too.`;
    throw new JvmSourceError('D2S_ERR_JVM_AMBIGUOUS', message);
  }
  if (candidate !== undefined) return { candidate };
  if (visible !== undefined && result !== undefined) throw createFailureError(visible, result, search.own);
  throw new JvmSourceError(
    'D2S_ERR_JVM_NOT_FOUND',
    `jvm.pid is ${pid}, but there is no such process and no counters file ${search.tmpPath}/hsperfdata_*/${pid}. ` +
      'Set jvm.pid to the JVM’s pid as this sidecar sees it, or leave it out to have the JVM found by the upstream’s port.',
  );
}

async function findInvisible(search: Search, nspid: number): Promise<Candidate[]> {
  const list = await listPerfFiles(search, search.tmpPath, findKnownUsers(search, search.uids));
  const paths = list === 'denied' ? [] : list.filter((path) => path.nspid === nspid);
  const candidates: Candidate[] = [];
  for (const path of paths) {
    const result = await readCandidate(search, path, []);
    if (result.kind === 'candidate' && isOfUser(result.candidate, search.user)) candidates.push(result.candidate);
  }
  return withoutDead(search, candidates);
}

async function findUnnamed(search: Search): Promise<Choice> {
  const { listeners, user, own, upstreamPort } = search;
  // Another server's JVM would be a wrong answer. With `jvm.user` set, the search continues.
  if (listeners?.length === 0 && user === undefined)
    throw new JvmSourceError(
      'D2S_ERR_JVM_NOT_FOUND',
      `There is no JVM to read: nothing listens on the upstream’s port ${upstreamPort} of this machine. Is the application server running? ` +
        'If the JVM is not the process that listens, set jvm.pid or jvm.user.',
    );
  const sockets = inodesOf(listeners);
  const holders = sockets.size === 0 ? [] : await findHolders(search, search.processes, sockets);
  const found: Candidate[] = [];
  const failed: { process: ProcessInfo; result: Failure }[] = [];
  for (const process of holders) {
    const result = await findOfProcess(search, process);
    if (result.kind !== 'candidate') failed.push({ process, result });
    else if (isOfUser(result.candidate, user)) found.push(result.candidate);
  }
  const [candidate, another] = found;
  if (another !== undefined) throw ambiguous(found.map(describeCandidate));
  if (candidate !== undefined) return { candidate };
  // This process looks like a JVM and listens, so it is the one; searching for others would be a guess.
  const jvm = failed.find(({ process }) => looksLikeJvm(process));
  if (jvm !== undefined) throw createFailureError(jvm.process, jvm.result, own);
  return { candidate: await findServer(search, holders), insteadOf: holders[0] };
}

async function findServer(search: Search, holders: readonly ProcessInfo[]): Promise<Candidate> {
  const { user, listeners } = search;
  const survey = await findAll(search);
  // If the listener's process is not visible, its user still is. A visible process that is not a JVM, e.g. a proxy,
  // says nothing.
  const listenerUids =
    holders.length === 0 && listeners !== undefined ? new Set(listeners.map(({ uid }) => uid)) : undefined;
  const ofUser = survey.candidates.filter((candidate) => isOfUser(candidate, user));
  const ofListener = ofUser.filter(({ file }) => !listenerUids?.size || listenerUids.has(file.uid));
  const servers = ofListener.filter(({ counters }) => counters.command?.kind === 'application-server');
  const others = user === undefined ? [] : ofListener.filter(({ counters }) => counters.command?.kind === 'other');
  const living = await withoutDead(search, servers.length > 0 ? servers : others);
  const sure = living.filter(({ liveness }) => liveness !== 'unknown');
  // No JVM listens on the port: a file without evidence of a living JVM is a dead one's.
  const possible = sure.length > 0 || listeners?.length === 0 || holders.length > 0 ? sure : living;
  const [only, another] = possible;
  if (another !== undefined) throw ambiguous(possible.map(describeCandidate));
  if (only !== undefined) return only;
  throw whyNone(search, { ...survey, candidates: ofUser }, listenerUids);
}

function whyNone(
  search: Search,
  { candidates, failures, deniedProcesses }: Survey,
  listenerUids: ReadonlySet<number> | undefined,
): JvmSourceError {
  const { own, user, upstreamPort } = search;
  const isSuspect = (uid: number) => !listenerUids?.size || listenerUids.has(uid);
  // A JVM that exists but is closed to us is most probably the one.
  const closed = deniedProcesses.find((process) => looksLikeJvm(process) && isSuspect(process.uid));
  if (closed !== undefined) return denied(closed, own);
  for (const failure of failures) {
    if (failure.kind !== 'denied' || failure.uid === undefined) continue;
    const { path, uid: owner } = failure;
    if (!isPathOfUser(path, user) || !isSuspect(owner)) continue;
    const holder = search.processes.find(({ nspid, uid }) => nspid === path.nspid && uid === owner);
    return holder ? denied(holder, own) : deniedToUser(`The JVM of ${pathOf(path)}`, owner, own);
  }
  const [stranger] = listenerUids ?? [];
  if (stranger !== undefined && stranger !== own.uid && own.uid !== 0) {
    return deniedToUser(`The process that listens on port ${upstreamPort}`, stranger, own);
  }
  const port = describePort(search);
  const jvms = candidates.filter(({ liveness }) => liveness === 'alive' || liveness === 'stopped');
  const others =
    jvms.length === 0 ? 'and no other JVM is visible' : `only ${formatJvmList(jvms.map(describeCandidate))}`;
  const ofUser = user === undefined ? '' : ` of user ${user} (jvm.user)`;
  return new JvmSourceError(
    'D2S_ERR_JVM_NOT_FOUND',
    `No JVM found: ${port}, and no Tomcat or WildFly${ofUser} has a counters file in ${search.tmpPath}/hsperfdata_* or ` +
      `/proc/*/root/tmp/hsperfdata_*, ${others}. Start the application server; if it is one of another kind, set jvm.pid; in ` +
      'containers share the process namespace (shareProcessNamespace: true) or mount one emptyDir on /tmp in both.',
  );
}

function describePort({ upstreamHost, upstreamPort, listeners }: Search): string {
  if (upstreamPort === undefined) return 'no upstream port is known';
  if (listeners === undefined) return `the upstream’s host ${upstreamHost} is not this machine`;
  if (listeners.length === 0) return `nothing listens on the upstream’s port ${upstreamPort} here`;
  return `the process on the upstream’s port ${upstreamPort} is not a visible JVM`;
}

/** Drops dead JVMs: for those in doubt, checks a moment later whether their ticks have moved. */
async function withoutDead(search: Search, candidates: readonly Candidate[]): Promise<Candidate[]> {
  const isInDoubt = ({ liveness, evidence }: Candidate) => liveness === 'unknown' && evidence.ticks !== undefined;
  if (candidates.some(isInDoubt)) await delay(TICKS_MOVE_WITHIN_MS + 10, undefined, { signal: search.signal });
  const living: Candidate[] = [];
  for (const candidate of candidates) {
    const { evidence: previous, process, path } = candidate;
    const again = isInDoubt(candidate) ? await readCounters(search, path) : undefined;
    const decided = again?.kind === 'counters' ? await decideLiveness(search, { process, previous, ...again }) : {};
    const checked: Candidate = { ...candidate, ...decided };
    if (checked.liveness !== 'gone') living.push(checked);
  }
  return living;
}

function isOfUser({ path, file }: Candidate, user: string | undefined): boolean {
  return isPathOfUser(path, user) || user === String(file.uid);
}

function isPathOfUser(path: PerfFilePath, user: string | undefined): boolean {
  return user === undefined || path.user === user;
}
