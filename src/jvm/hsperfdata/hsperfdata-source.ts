/**
 * The default source: HotSpot's counters file, which every JVM writes by default. It needs nothing from the application
 * server, and reads only /proc and that file. This folder knows neither the attach socket nor the HTTP sources.
 */
import { type Clock, systemClock } from '../../base/clock.ts';
import { countDescriptors, readMaxDescriptors } from '../../base/descriptors.ts';
import { describeFileError } from '../../base/trusted-file.ts';
import { type JvmErrorCode, type JvmReading, type JvmSource, JvmSourceError } from '../jvm-source.ts';
import type { ServerProcess } from '../server-reading.ts';
import type { Candidate } from './candidates.ts';
import { countOf } from './counters.ts';
import { type FindJvmOptions, type FoundJvm, findJvm, listenersOf } from './find-jvm.ts';
import { type Collector, computeReading } from './formulas.ts';
import { decideLiveness, type LivenessEvidence } from './liveness.ts';
import { readCounters } from './perf-file.ts';
import { readAside, readStatus, START_TICKS } from './processes.ts';
import { beyondBounds, unusable } from './refusals.ts';
import { SearchBounds } from './search-bounds.ts';

/** A JVM as its counters file and /proc show it. */
export interface VisibleJvm {
  /**
   * In our own pid namespace. Undefined if not visible, e.g. in another container; then the JVM never gets a signal.
   */
  readonly pid?: number | undefined;
  /** In the JVM's own, innermost pid namespace: the number in the names of its files. */
  readonly nspid: number;
  readonly uid: number;
  readonly gid: number;
  /** Field 22 of /proc/<pid>/stat; unique together with the pid. If given, no other process is accepted. */
  readonly startTicks?: number | undefined;
  /** Start time that the JVM reports, in milliseconds since 1970. */
  readonly startedEpochMs?: number | undefined;
  /** Prefix for the JVM's own paths: empty, or e.g. `/proc/812/root`. */
  readonly rootPath: string;
  /** The JVM's /tmp as we reach it, which is HotSpot's folder for its sockets, regardless of java.io.tmpdir. */
  readonly tmpPath: string;
  readonly collector?: Collector | undefined;
  readonly jdkMajor?: number | undefined;
  /** As in `FoundJvm`. */
  readonly description: string;
}

export interface HsperfdataOptions extends Omit<FindJvmOptions, 'nowNs' | 'bounds'> {
  /** Default `findJvm`. */
  readonly find?: typeof findJvm | undefined;
  readonly clock?: Clock | undefined;
  /**
   * Called if neither the process nor a lock nor a counter shows whether the JVM is alive. It connects e.g. to the
   * attach socket: `false` if that is refused, undefined if there is none. Must not reject.
   */
  readonly isAnswering?: ((jvm: VisibleJvm, signal: AbortSignal) => Promise<boolean | undefined>) | undefined;
}

/** Errors that a bound of the search may have caused. The others describe something that was found. */
const BEYOND_BOUNDS: readonly JvmErrorCode[] = ['D2S_ERR_JVM_NOT_FOUND', 'D2S_ERR_JVM_GONE', 'D2S_ERR_JVM_FORMAT'];

/** The JVM that is read, and the evidence in its last reading that it is alive. */
type Current = FoundJvm & { evidence: LivenessEvidence };

export class HsperfdataSource implements JvmSource {
  readonly name = 'hsperfdata';
  readonly #options: HsperfdataOptions & FindJvmOptions;
  readonly #bounds = new SearchBounds();
  readonly boundsHit: ReadonlyMap<string, number> = this.#bounds.hits;
  #current: Current | undefined;
  /** The JVM of the last reading; undefined before the first one and after a failed one. */
  found: VisibleJvm | undefined;
  /** The JVM that was read last and has disappeared, until one is found again. */
  #lost: { readonly jvm: Current; readonly why: JvmSourceError } | undefined;

  constructor(options: HsperfdataOptions) {
    const { clock = systemClock } = options;
    this.#options = { ...options, nowNs: () => clock.nowNs(), bounds: this.#bounds };
  }

  async read(signal: AbortSignal): Promise<JvmReading> {
    try {
      return await this.#read(signal);
    } catch (cause) {
      this.found = undefined;
      if (cause instanceof JvmSourceError) throw cause;
      if (signal.aborted)
        throw new JvmSourceError('D2S_ERR_JVM_TIMEOUT', 'Finding and reading the JVM took too long.', cause);
      const reason = describeFileError(cause);
      throw new JvmSourceError('D2S_ERR_JVM_NOT_FOUND', `The JVM’s counters cannot be read (${reason}).`, cause);
    }
  }

  /** Forgets the JVM; no descriptor is kept open. */
  close(): void {
    this.#current = undefined;
    this.found = undefined;
  }

  async #read(signal: AbortSignal): Promise<JvmReading> {
    if (this.#current !== undefined && !(await this.#hasListenerChanged(this.#current))) {
      const result = await this.#readCurrent(this.#current, signal);
      if (!(result instanceof JvmSourceError)) return result;
      this.#lost = { jvm: this.#current, why: result };
    }
    this.#current = undefined;
    const found = await this.#find(signal);
    this.#current = { ...found, evidence: found.candidate.evidence };
    const result = await this.#readCurrent(this.#current, signal);
    if (result instanceof JvmSourceError) {
      this.#lost = { jvm: this.#current, why: result };
      this.#current = undefined;
      throw result;
    }
    this.#lost = undefined;
    return result;
  }

  async #find(signal: AbortSignal): Promise<FoundJvm> {
    const gone = this.#lost?.why.code === 'D2S_ERR_JVM_GONE' ? this.#lost : undefined;
    const hitsBefore = new Map(this.#bounds.hits);
    let found: FoundJvm;
    try {
      found = await (this.#options.find ?? findJvm)(this.#options, signal);
    } catch (cause) {
      if (!(cause instanceof JvmSourceError)) throw cause;
      const why = gone !== undefined && cause.code === 'D2S_ERR_JVM_NOT_FOUND' ? gone.why : cause;
      const hits = BEYOND_BOUNDS.includes(why.code) ? this.#bounds.describeHitsSince(hitsBefore) : undefined;
      throw hits === undefined ? why : beyondBounds(why, hits);
    }
    // A dead JVM's file looks like that of a living one without visible processes; but we saw this JVM end.
    if (gone && found.candidate.liveness === 'unknown' && isSameJvm(gone.jvm.candidate, found.candidate))
      throw gone.why;
    return found;
  }

  /** If nothing listens any more, the JVM is kept; if another socket listens, it is not. */
  async #hasListenerChanged({ listenerInodes }: Current): Promise<boolean> {
    if (this.#options.pid !== undefined) return false;
    const now = (await listenersOf(this.#options)) ?? [];
    return now.length > 0 && !now.some(({ inode }) => listenerInodes.has(inode));
  }

  /** Opens the path again: a kept descriptor would read a dead JVM's file forever. Returns an error if it is gone. */
  async #readCurrent(current: Current, signal: AbortSignal): Promise<JvmReading | JvmSourceError> {
    const { path, process } = current.candidate;
    const { procPath = '/proc' } = this.#options;
    const context = { ...this.#options, procPath, signal };
    const who = `The JVM with pid ${process?.pid ?? path.nspid} (user ${path.user})`;
    const gone = (why: string) => {
      const message = `${who} has ended: ${why}. No other has been found since; start the application server.`;
      return new JvmSourceError('D2S_ERR_JVM_GONE', message);
    };
    const result = await readCounters(context, path);
    if (result.kind === 'absent') return gone('its counters file has been removed, as at a normal exit');
    // /proc/<pid>/root closes when the JVM ends, and another user may now own the name.
    if (result.kind === 'denied') return gone('its counters file may no longer be read');
    if (result.kind !== 'counters') return unusable({ ...result, path });
    const { file, counters } = result;
    if (!isSameJvm(current.candidate, result)) return gone('another JVM has replaced it');
    const answer = await decideLiveness(context, { process, file, counters, previous: current.evidence });
    current.evidence = answer.evidence;
    const { reading, collector } = computeReading(counters);
    const jvm = createVisibleJvm(current, file, counters, collector, procPath);
    const isUnknown = answer.liveness === 'unknown';
    const isSilent = isUnknown && (await this.#options.isAnswering?.(jvm, signal)) === false;
    const liveness = isSilent ? 'gone' : answer.liveness;
    // A stopped JVM is still the right one: it is read again, and no other is searched for.
    if (liveness === 'stopped') {
      const why = 'is stopped (SIGSTOP, a debugger or a frozen container); continue it, e.g. with kill -CONT';
      throw new JvmSourceError('D2S_ERR_JVM_GONE', `${who} ${why} ${process?.pid ?? path.nspid}.`);
    }
    if (liveness === 'gone')
      return gone('its counters file is left behind, as after SIGKILL or the kernel’s OOM killer');
    this.found = jvm;
    const count = (name: string) => countOf(counters, `java.threads.${name}`);
    const threads = { live: count('live'), daemon: count('daemon'), peak: count('livePeak') };
    const server = jvm.pid === undefined ? undefined : await readServerProcess(procPath, jvm.pid, jvm.startTicks);
    return { ...reading, server: { threads, process: server } };
  }
}

function isSameJvm(one: Pick<Candidate, 'file' | 'counters'>, other: Pick<Candidate, 'file' | 'counters'>): boolean {
  const isSameFile = one.file.inode === other.file.inode && one.file.device === other.file.device;
  return isSameFile && one.counters.startedEpochMs === other.counters.startedEpochMs;
}

function createVisibleJvm(
  { candidate: { path, process }, description }: FoundJvm,
  file: Candidate['file'],
  { jdkMajor, startedEpochMs }: Candidate['counters'],
  collector: Collector,
  procPath: string,
): VisibleJvm {
  const pid = process?.pid;
  const root = `${procPath}/${pid}/root`;
  return {
    pid,
    startTicks: process?.startTicks,
    nspid: path.nspid,
    uid: file.uid,
    gid: process?.gid ?? file.gid,
    rootPath: path.tmp.startsWith(`${root}/`) ? root : '',
    tmpPath: path.tmp,
    collector,
    jdkMajor,
    startedEpochMs,
    description,
  };
}

/** Fields 14 and 15 of /proc/<pid>/stat, counted after the name (proc(5)). */
const [USER_TICKS, SYSTEM_TICKS] = [11, 12];
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
  const openDescriptors = await countDescriptors(`${folder}/fd`);
  const { words, fields = [] } = readStatus(folder) ?? {};
  const started = parseNumber(fields[START_TICKS]);
  if (words === undefined || started === undefined || (startTicks ?? started) !== started) return undefined;
  const [user, system] = [parseNumber(fields[USER_TICKS]), parseNumber(fields[SYSTEM_TICKS])];
  const residentKb = parseNumber(words('VmRSS')[0]);
  return {
    id: `${pid} ${started}`,
    cpuSeconds: user === undefined || system === undefined ? undefined : (user + system) / TICKS_PER_S,
    residentBytes: residentKb === undefined ? undefined : residentKb * BYTES_PER_KB,
    openDescriptors,
    maxDescriptors: readMaxDescriptors(`${folder}/limits`),
    processors: await processorsOf(folder, words('Cpus_allowed_list')[0]),
  };
}

/** As the JVM counts them: the processors that it may run on, up to the quota of its control group (version 2). */
async function processorsOf(folder: string, list: string | undefined): Promise<number | undefined> {
  if (list === undefined || !/^[\d,-]+$/.test(list)) return undefined;
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
