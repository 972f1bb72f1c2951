/**
 * Asks a JVM over its attach socket for values that its counters file lacks or updates late, and lays them over a
 * reading of the file. They are optional: a failure leaves the reading unchanged, and takes a fraction of its time
 * limit. This folder does not search for a JVM: it gets the one that `hsperfdata/` has found.
 */
import { once } from 'node:events';
import { describeErrno } from '../../base/errors.ts';
import { platform } from '../../base/platform/platform.ts';
import type { VisibleJvm } from '../hsperfdata/hsperfdata-source.ts';
import { type JvmReading, JvmSourceError } from '../jvm-source.ts';
import { type AttachCommand, askJvm, isListening, THREAD_COMMAND } from './attach-client.ts';
import { type AttachSocket, openAttachSocket } from './attach-socket.ts';
import { isHeapOf, type LiveValues, layOver } from './live-values.ts';
import { AttachOpener } from './open-attach.ts';
import { type FlagsInfo, parseCodeCache, parseFlags, parseHeapInfo, parseMetaspace } from './parse-answers.ts';
import { type AttachSystem, createAttachSystem } from './process-state.ts';

export interface AttachOverlayOptions {
  /** `jvm.attach`: whether we may make a JVM open its attach socket. An existing socket is used in any case. */
  readonly mayOpen: boolean;
  /** For all four commands together; must be less than the limit of a reading. Default 500 ms; they take 2 to 3 ms. */
  readonly timeoutMs?: number;
  /** Time for a JVM to open its socket, over several readings. Default 60 s. */
  readonly openTimeoutMs?: number;
  readonly system?: AttachSystem;
}

const TIMEOUT_MS = 500;
/** The clock may have been changed by this much between the JVM's start and the creation of its socket. */
const CLOCK_TOLERANCE_MS = 10_000;

const NOT_OPENED =
  'the JVM has no attach socket: set jvm.attach to true, or start the JVM with -XX:+StartAttachListener';
const NO_SOCKETS =
  'on Windows a JVM has no attach socket: set jvm.http for its live memory, and take a thread dump by jcmd PID Thread.print, as the user of the server';
const STILL_OPENING = 'the JVM has been asked to open its attach socket, and has not done so yet';

export class AttachOverlay {
  readonly #options: { readonly mayOpen: boolean; readonly timeoutMs: number; readonly system: AttachSystem };
  readonly #opener: AttachOpener;
  #flags: { readonly of: string; readonly flags: FlagsInfo } | undefined;
  /** Whether the last reading contains anything from the attach socket. */
  isApplied = false;
  /** Why the last reading lacks some or all values of the attach socket, for the log; undefined if it has all. */
  reason: string | undefined = 'not read yet';

  constructor({ mayOpen, timeoutMs = TIMEOUT_MS, openTimeoutMs, system = createAttachSystem() }: AttachOverlayOptions) {
    this.#options = { mayOpen, timeoutMs, system };
    this.#opener = new AttachOpener(system, openTimeoutMs);
  }

  /** Returns `reading` itself if there is nothing to lay over it. Never rejects. Not for concurrent calls. */
  async apply(reading: JvmReading, jvm: VisibleJvm, signal: AbortSignal): Promise<JvmReading> {
    this.isApplied = false;
    this.reason = undefined;
    const deadline = createDeadline(signal, this.#options.timeoutMs);
    let socket: AttachSocket | undefined;
    try {
      // Only the first reading waits, until its deadline. Later ones do not wait and register no callback.
      socket = await this.#openSocket(jvm, deadline.signal, !this.#opener.isOpening(jvm));
      const live = await this.#ask(socket, reading, jvm, deadline.signal);
      const overlaid = layOver(reading, live, { ...jvm, architecture: this.#options.system.architecture });
      this.isApplied = Object.values(live).some((value) => value !== undefined);
      return overlaid;
    } catch (cause) {
      const isOurs = cause instanceof JvmSourceError;
      this.reason = isOurs ? cause.message : `the attach socket cannot be used (${describeErrno(cause)})`;
      return reading;
    } finally {
      deadline.clear();
      await socket?.close();
    }
  }

  /** Takes a thread dump. Rejects with a JvmSourceError that has the reason. May run concurrently with `apply`. */
  async threads(jvm: VisibleJvm, signal: AbortSignal): Promise<string> {
    const socket = await this.#openSocket(jvm, signal, true);
    try {
      if (isOlder(socket, jvm))
        throw new JvmSourceError('D2S_ERR_JVM_GONE', 'The attach socket belongs to another JVM.');
      return await askJvm(socket.connectPath, THREAD_COMMAND, signal);
    } finally {
      await socket.close();
    }
  }

  /** The JVM's socket. Makes the JVM open it if allowed, and waits for that if `mayWait`. Rejects with a JvmSourceError. */
  async #openSocket(jvm: VisibleJvm, signal: AbortSignal, mayWait: boolean): Promise<AttachSocket> {
    if (platform.serviceManager === 'windows') throw unreachable(NO_SOCKETS);
    const socket = await openAttachSocket(jvm, this.#options.system);
    if (socket !== undefined) return socket;
    if (!this.#options.mayOpen) throw unreachable(NOT_OPENED);
    const reason = mayWait ? await Promise.race([this.#opener.open(jvm), aborted(signal)]) : STILL_OPENING;
    if (reason !== undefined) throw unreachable(reason);
    const opened = await openAttachSocket(jvm, this.#options.system);
    if (opened === undefined) throw unreachable('the attach socket was removed right after it was created');
    return opened;
  }

  /** Whether the JVM is alive according to its attach socket; undefined if there is none, or it cannot be used. */
  async isAlive(jvm: VisibleJvm, signal: AbortSignal): Promise<boolean | undefined> {
    const deadline = createDeadline(signal, this.#options.timeoutMs);
    let socket: AttachSocket | undefined;
    try {
      socket = await openAttachSocket(jvm, this.#options.system);
      // An older socket is a previous JVM's, e.g. in a container where every JVM has the same pid.
      if (socket === undefined || isOlder(socket, jvm)) return undefined;
      return await isListening(socket.connectPath, deadline.signal);
    } catch {
      // Access denied, or no answer: unknown.
      return undefined;
    } finally {
      deadline.clear();
      await socket?.close();
    }
  }

  /** Stops an opening in progress and removes the marker file, if there is one. */
  async close(): Promise<void> {
    await this.#opener.close();
  }

  async #ask(
    { connectPath, identity }: AttachSocket,
    reading: JvmReading,
    jvm: VisibleJvm,
    deadline: AbortSignal,
  ): Promise<LiveValues> {
    const ask = async <T>(command: AttachCommand, parse: (text: string) => T | undefined): Promise<T | undefined> => {
      const text = await askJvm(connectPath, command, deadline).catch(ignoreFormat);
      const value = text === undefined ? undefined : parse(text);
      if (value === undefined) this.reason ??= `the JVM’s answer to ${command} cannot be read`;
      return value;
    };
    if (this.#flags?.of !== identity) {
      const flags = await ask('VM.flags', parseFlags);
      this.#flags = flags && { of: identity, flags };
    }
    // JVMs in two containers that share a /tmp have the same pid and socket name, so counters and socket may belong to
    // different JVMs. No heap is larger than its MaxHeapSize; MXBean and counters leave out a survivor space at most.
    if ((reading.heap.max ?? 0) > (this.#flags?.flags.maxHeapSize ?? Number.POSITIVE_INFINITY))
      throw new JvmSourceError(
        'D2S_ERR_JVM_FORMAT',
        'The attach socket and the counters file belong to different JVMs: the socket’s has a smaller heap. Give each container its own /tmp.',
      );
    // G1's counters are as fresh as its text, and closer to the MXBean.
    const { used, committed } = reading.heap;
    const knowsHeap = jvm.collector === 'G1' && used !== undefined && committed !== undefined;
    // Nothing can verify the text of an unknown collector.
    const asksHeap = !knowsHeap && jvm.collector !== 'unknown';
    const heap = asksHeap ? await ask('GC.heap_info', parseHeapInfo) : undefined;
    if (heap !== undefined && !isHeapOf(jvm, heap))
      this.reason ??= `the JVM’s answer to GC.heap_info is of another collector (${heap.kind}) than its counters (${jvm.collector})`;
    const metaspace = await ask('VM.metaspace basic scale=1', parseMetaspace);
    const codeHeaps = await ask('Compiler.codecache', parseCodeCache);
    return { heap, metaspace, codeHeaps, flags: this.#flags?.flags };
  }
}

function unreachable(reason: string): JvmSourceError {
  return new JvmSourceError('D2S_ERR_JVM_UNREACHABLE', `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`);
}

function isOlder({ madeEpochMs }: AttachSocket, { startedEpochMs }: VisibleJvm): boolean {
  return startedEpochMs !== undefined && madeEpochMs < startedEpochMs - CLOCK_TOLERANCE_MS;
}

/** For `catch`: this JVM lacks the command or answers in another form; the other answers may still be usable. */
function ignoreFormat(error: unknown): undefined {
  if (!(error instanceof JvmSourceError) || error.code !== 'D2S_ERR_JVM_FORMAT') throw error;
}

/** Not AbortSignal.any: Node 20 collects such a signal, and its timer, as garbage unless its users hold a reference. */
function createDeadline(outer: AbortSignal, ms: number): { readonly signal: AbortSignal; clear(): void } {
  const inner = new AbortController();
  const abort = () => inner.abort();
  const timer = setTimeout(abort, ms);
  outer.addEventListener('abort', abort, { once: true });
  if (outer.aborted) abort();
  return {
    signal: inner.signal,
    clear: () => {
      clearTimeout(timer);
      outer.removeEventListener('abort', abort);
    },
  };
}

async function aborted(signal: AbortSignal): Promise<string> {
  if (!signal.aborted) await once(signal, 'abort');
  return STILL_OPENING;
}
