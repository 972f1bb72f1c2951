/**
 * The default source: HotSpot's counters file, which every JVM writes by default. It needs nothing from the application
 * server, and reads only /proc and that file. This folder knows neither the attach socket nor the HTTP sources.
 */
import { type Clock, systemClock } from '../../base/clock.ts';
import type { JvmReading } from '../jvm-reading.ts';
import { type JvmErrorCode, type JvmSource, JvmSourceError } from '../jvm-source.ts';
import type { Candidate } from './candidates.ts';
import type { Collector } from './collectors.ts';
import { type FindJvmOptions, type FoundJvm, findJvm, listenersOf } from './find-jvm.ts';
import { toReading } from './formulas.ts';
import { type Liveness, type LivenessEvidence, toLiveness } from './liveness.ts';
import { type PerfFilePath, pathOf } from './perf-file.ts';
import { readCounters } from './read-counters.ts';
import { beyondBounds, refused, unreadable } from './refusals.ts';
import { SearchBounds } from './search-bounds.ts';

export interface HsperfdataOptions extends Omit<FindJvmOptions, 'nowNs' | 'bounds'> {
  readonly clock?: Clock | undefined;
  /**
   * Called if neither the process nor a lock nor a counter shows whether the JVM is alive. It connects e.g. to the
   * attach socket: `false` if that is refused, undefined if there is none. Must not reject.
   */
  readonly isAnswering?: ((jvm: VisibleJvm, signal: AbortSignal) => Promise<boolean | undefined>) | undefined;
}

export interface VisibleJvm {
  /** In our own pid namespace; undefined if the JVM's processes are not visible. */
  readonly pid: number | undefined;
  /** When that process started, in ticks since boot: distinguishes it from a later process with the same pid. */
  readonly startTicks: number | undefined;
  /** In the JVM's own pid namespace, as in the names of its files. */
  readonly nspid: number;
  readonly uid: number;
  readonly gid: number;
  /** Prefix for the JVM's own paths: empty, or e.g. `/proc/812/root`. */
  readonly rootPath: string;
  /** The JVM's /tmp as we reach it, e.g. `/proc/812/root/tmp`. */
  readonly tmpPath: string;
  readonly collector: Collector;
  readonly jdkMajor: number | undefined;
  /** When the JVM started, in milliseconds since 1970. Another value means another JVM. */
  readonly startedEpochMs: number | undefined;
}

/** Errors that a bound of the search may have caused. The others describe something that was found. */
const BEYOND_BOUNDS: ReadonlySet<JvmErrorCode> = new Set<JvmErrorCode>([
  'D2S_ERR_JVM_NOT_FOUND',
  'D2S_ERR_JVM_GONE',
  'D2S_ERR_JVM_FORMAT',
]);

interface Current {
  readonly path: PerfFilePath;
  readonly process: { readonly pid: number; readonly startTicks: number; readonly gid: number } | undefined;
  readonly inode: bigint;
  readonly device: bigint;
  readonly startedEpochMs: number | undefined;
  readonly listenerInodes: ReadonlySet<string>;
  evidence: LivenessEvidence;
}

export class HsperfdataSource implements JvmSource {
  readonly name = 'hsperfdata';
  readonly #options: HsperfdataOptions;
  readonly #clock: Clock;
  readonly #bounds = new SearchBounds();
  #current: Current | undefined;
  #found: VisibleJvm | undefined;
  /** The JVM that was read last and has disappeared, until one is found again. */
  #lost: { readonly jvm: Current; readonly why: JvmSourceError } | undefined;

  constructor(options: HsperfdataOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** The JVM of the last reading; undefined before the first one and after a failed one. */
  get found(): VisibleJvm | undefined {
    return this.#found;
  }

  get boundsHit(): ReadonlyMap<string, number> {
    return this.#bounds.hits;
  }

  async read(signal: AbortSignal): Promise<JvmReading> {
    try {
      return await this.#read(signal);
    } catch (cause) {
      this.#found = undefined;
      if (cause instanceof JvmSourceError) throw cause;
      if (signal.aborted)
        throw new JvmSourceError('D2S_ERR_JVM_TIMEOUT', 'Finding and reading the JVM took too long.', cause);
      const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
      throw new JvmSourceError('D2S_ERR_JVM_NOT_FOUND', `The JVM’s counters cannot be read (${code}).`, cause);
    }
  }

  /** Forgets the JVM; no descriptor is kept open. */
  close(): void {
    this.#current = undefined;
    this.#found = undefined;
  }

  async #read(signal: AbortSignal): Promise<JvmReading> {
    if (this.#current !== undefined && !(await this.#hasListenerChanged(this.#current))) {
      const result = await this.#readCurrent(this.#current, signal);
      if (!(result instanceof JvmSourceError)) return result;
      this.#lost = { jvm: this.#current, why: result };
    }
    this.#current = undefined;
    this.#current = toCurrent(await this.#find(signal));
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
      found = await findJvm({ ...this.#options, nowNs: () => this.#clock.nowNs(), bounds: this.#bounds }, signal);
    } catch (cause) {
      if (!(cause instanceof JvmSourceError)) throw cause;
      const why = gone !== undefined && cause.code === 'D2S_ERR_JVM_NOT_FOUND' ? gone.why : cause;
      const hits = BEYOND_BOUNDS.has(why.code) ? this.#bounds.describeHitsSince(hitsBefore) : undefined;
      throw hits === undefined ? why : beyondBounds(why, hits);
    }
    // A dead JVM's file looks like that of a living one without visible processes; but we saw this JVM end.
    if (gone !== undefined && found.candidate.liveness === 'unknown' && isSameJvm(gone.jvm, found.candidate))
      throw gone.why;
    return found;
  }

  /** If nothing listens any more, the JVM is kept; if another socket listens, it is not. */
  async #hasListenerChanged({ listenerInodes }: Current): Promise<boolean> {
    if (this.#options.pid !== undefined) return false;
    const now = (await listenersOf({ ...this.#options, bounds: this.#bounds })) ?? [];
    return now.length > 0 && !now.some(({ inode }) => listenerInodes.has(inode));
  }

  /** Opens the path again: a kept descriptor would read a dead JVM's file forever. Returns an error if it is gone. */
  async #readCurrent(current: Current, signal: AbortSignal): Promise<JvmReading | JvmSourceError> {
    const { path, process } = current;
    const result = await readCounters(path, this.#bounds, signal);
    if (result.kind === 'absent') return this.#gone(current, 'its counters file has been removed, as at its end');
    // /proc/<pid>/root closes when the JVM ends, and another user may now own the name.
    if (result.kind === 'denied') return this.#gone(current, 'its counters file may no longer be read');
    if (result.kind === 'refused') return refused(pathOf(path), result.reason);
    if (result.kind !== 'counters') return unreadable(pathOf(path), result);
    const { file, counters } = result;
    if (!isSameJvm(current, result)) return this.#gone(current, 'another one has taken its place');
    const { procPath = '/proc' } = this.#options;
    const previous = current.evidence;
    const nowNs = this.#clock.nowNs();
    const answer = await toLiveness({ procPath, process, file, counters, previous, nowNs, bounds: this.#bounds });
    current.evidence = answer.evidence;
    const { reading, collector } = toReading(counters);
    const jvm = toVisible(current, file, counters, collector, procPath);
    const liveness = await this.#ask(answer.liveness, jvm, signal);
    // A stopped JVM is still the right one: it is read again, and no other is searched for.
    if (liveness === 'stopped') throw this.#stopped(current);
    if (liveness === 'gone')
      return this.#gone(current, 'its counters file is left behind, as after SIGKILL or the kernel’s OOM killer');
    this.#found = jvm;
    return reading;
  }

  async #ask(liveness: Liveness, jvm: VisibleJvm, signal: AbortSignal): Promise<Liveness> {
    if (liveness !== 'unknown') return liveness;
    const isAnswering = await this.#options.isAnswering?.(jvm, signal);
    return isAnswering === false ? 'gone' : 'unknown';
  }

  #gone({ path, process }: Current, why: string): JvmSourceError {
    const pid = process?.pid ?? path.nspid;
    const message = `The JVM with pid ${pid} (user ${path.user}) has ended: ${why}. No other has been found since; start the application server.`;
    return new JvmSourceError('D2S_ERR_JVM_GONE', message);
  }

  #stopped({ path, process }: Current): JvmSourceError {
    const pid = process?.pid ?? path.nspid;
    const message = `The JVM with pid ${pid} (user ${path.user}) is stopped (SIGSTOP, a debugger or a frozen container): let it go on, e.g. kill -CONT ${pid}.`;
    return new JvmSourceError('D2S_ERR_JVM_GONE', message);
  }
}

function isSameJvm(known: Current, { file, counters }: Pick<Candidate, 'file' | 'counters'>): boolean {
  const isSameFile = file.inode === known.inode && file.device === known.device;
  return isSameFile && counters.startedEpochMs === known.startedEpochMs;
}

function toCurrent({ candidate, listenerInodes }: FoundJvm): Current {
  const { path, process, file, counters, evidence } = candidate;
  const { inode, device } = file;
  return { path, process, inode, device, startedEpochMs: counters.startedEpochMs, listenerInodes, evidence };
}

function toVisible(
  { path, process }: Current,
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
  };
}
