/**
 * Makes a JVM open its attach socket, with a marker file and SIGQUIT. The signal is dangerous: it ends a process that
 * does not handle it, and makes an unprepared JVM print all its threads. So everything is checked
 * beforehand, most of it again right before the signal. A JVM that does not open its socket is never asked again.
 */
import { lstatSync, type Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { describeErrno } from '../../base/errors.ts';
import type { VisibleJvm } from '../hsperfdata/hsperfdata-source.ts';
import { isStopped, isZombie, type ProcessInfo, readProcess } from '../hsperfdata/processes.ts';
import { below, type Marker, openTmp, placeMarker, socketNameOf, whyNotOf } from './attach-socket.ts';
import * as check from './process-state.ts';

/**
 * How long the JVM may take. Measured: 16 ms, but a collection may come first and take many seconds on a large heap. If
 * the marker were removed too early, the JVM would print its threads.
 */
const OPEN_TIMEOUT_MS = 60_000;
const FIRST_PAUSE_MS = 5;
const MAX_PAUSE_MS = 100;
/** Starts of JVMs to remember; the oldest is evicted first. */
const MAX_REMEMBERED = 64;
/** A cleaner of /tmp may remove a socket now and then. If sockets keep disappearing, we give up after this many. */
const MAX_OPENINGS_PER_JVM = 16;

interface History {
  openings: number;
  /** Set once and final, unless the socket opens. */
  refusal: string | undefined;
}

export class AttachOpener {
  readonly #system: check.AttachSystem;
  readonly #openTimeoutMs: number;
  readonly #histories = new Map<string, History>();
  readonly #closing = new AbortController();
  #inProgress: { readonly key: string; readonly result: Promise<string | undefined> } | undefined;
  #marker: Marker | undefined;

  constructor(system: check.AttachSystem, openTimeoutMs: number = OPEN_TIMEOUT_MS) {
    this.#system = system;
    this.#openTimeoutMs = openTimeoutMs;
  }

  /** Whether this JVM was asked to open its socket, and may still do so. */
  isOpening(jvm: VisibleJvm): boolean {
    return this.#inProgress?.key === keyOf(jvm);
  }

  /**
   * Call it when there is no socket. Returns why there still is none; undefined if it is open. Never rejects. It may take `openTimeoutMs`, and longer for a stopped JVM: the
   * marker must stay until the JVM has seen it, even if no reading waits any more. A second call for the same JVM joins
   * the first; a call for another JVM is refused meanwhile.
   */
  async open(jvm: VisibleJvm): Promise<string | undefined> {
    const key = keyOf(jvm);
    if (this.#inProgress !== undefined && this.#inProgress.key !== key)
      return `process ${this.#inProgress.key.split(':')[0]} is still being asked for its attach socket`;
    this.#inProgress ??= {
      key,
      result: this.#open(jvm)
        .catch((cause: unknown) => `the attach socket cannot be opened (${describeErrno(cause)})`)
        .finally(() => {
          this.#inProgress = undefined;
        }),
    };
    return await this.#inProgress.result;
  }

  /** Ends a wait in progress. Removes the marker before it returns: the process may exit at once. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#marker?.remove();
    await this.#inProgress?.result;
  }

  async #open(jvm: VisibleJvm): Promise<string | undefined> {
    if (jvm.pid === undefined) return INVISIBLE;
    const state = readProcess(this.#system.procPath, jvm.pid);
    if (state === undefined) return GONE;
    const history = this.#historyOf(state);
    const reason = history.refusal ?? this.#whyNotNow(jvm, state) ?? (await this.#whyNotAtAll(state, history));
    if (reason !== undefined) return reason;

    if (this.#closing.signal.aborted) return STOPPING;
    const marker = await placeMarker(jvm.pid, jvm, this.#system);
    if (typeof marker === 'string') return marker;
    this.#marker = marker;
    let folder: FileHandle | undefined;
    try {
      folder = await openTmp(jvm);
      const socketPath = below(folder, socketNameOf(jvm));
      // Another program opened it. A JVM with a socket answers SIGQUIT with its threads, with or without the marker.
      const found = lstatSync(socketPath, { throwIfNoEntry: false });
      if (found !== undefined) return isSocketOf(found, jvm) ? undefined : OCCUPIED;
      return this.#signal(jvm, state, history) ?? (await this.#awaitSocket(jvm, state, socketPath, history));
    } finally {
      this.#marker = undefined;
      marker.remove();
      await marker.close();
      await folder?.close();
    }
  }

  #historyOf({ pid, startTicks }: ProcessInfo): History {
    const key = `${pid}:${startTicks}`;
    const history = this.#histories.get(key) ?? { openings: 0, refusal: undefined };
    this.#histories.set(key, history);
    const [oldest = key] = this.#histories.keys();
    if (this.#histories.size > MAX_REMEMBERED) this.#histories.delete(oldest);
    return history;
  }

  /** Reasons that may pass soon. Synchronous, so that a signal can follow at once. */
  #whyNotNow(jvm: VisibleJvm, state: ProcessInfo): string | undefined {
    const { uid, gid, procPath } = this.#system;
    if (isZombie(state)) return GONE;
    const isFound = jvm.startTicks === undefined || jvm.startTicks === state.startTicks;
    if (state.nspid !== jvm.nspid || state.uid !== jvm.uid || !isFound)
      return `process ${jvm.pid} is not the JVM that was found`;
    if (!check.isOwnProc(procPath, this.#system.pid))
      return '/proc belongs to another pid namespace, so that a signal would reach the wrong process: mount the sidecar’s own /proc';
    // The JVM itself checks both ids.
    if (uid !== 0 && (uid !== state.uid || gid !== state.gid)) {
      return `the JVM lets only its own user and group attach (${state.uid}:${state.gid}), or root; the sidecar runs as ${uid}:${gid}`;
    }
    if (isStopped(state)) return 'the JVM is stopped (SIGSTOP or a debugger)';
    if (!state.catchesQuit)
      return 'SIGQUIT would kill the JVM: it is just starting, or runs with -Xrs; with -Xrs add -XX:+StartAttachListener';
    return undefined;
  }

  /** Reasons that need a look into the process. Those that hold as long as it lives are kept in `history`. */
  async #whyNotAtAll(state: ProcessInfo, history: History): Promise<string | undefined> {
    const { procPath, uid } = this.#system;
    const { pid } = state;
    const { openings } = history;
    if (openings >= MAX_OPENINGS_PER_JVM)
      return `the attach socket has been opened ${openings} times and was removed each time: see what cleans /tmp`;
    if (!(await check.isHotSpot(procPath, pid)))
      history.refusal = `process ${pid} does not run HotSpot (no libjvm.so of it in its memory)`;
    else if (await check.isAttachDisabled(procPath, pid))
      history.refusal = 'the JVM runs with -XX:+DisableAttachMechanism: remove it';
    else if (uid === 0 && !(await check.hasOwnUserNamespace(procPath, pid)))
      history.refusal =
        'the JVM is in another user namespace, where our root is nobody: run the sidecar as the JVM’s user';
    if (history.refusal !== undefined) return history.refusal;
    if (!(await check.hasThread(procPath, pid, check.SIGNAL_DISPATCHER)))
      return 'SIGQUIT would go to a handler that is not the JVM’s: it is just starting, or runs with -Xrs and has to be restarted';
    // If we opened its socket before, the JVM is no longer starting: the socket was removed.
    const isStarting = openings === 0 && (await check.isAboutToListen(procPath, pid, state));
    return isStarting ? 'the JVM is just starting, and about to open its attach socket' : undefined;
  }

  /** Synchronous: nothing else runs between the last check of the process and the signal. */
  #signal(jvm: VisibleJvm, checked: ProcessInfo, history: History): string | undefined {
    const { pid } = checked;
    if (this.#closing.signal.aborted) return STOPPING;
    const now = readProcess(this.#system.procPath, pid);
    if (now?.startTicks !== checked.startTicks) return GONE;
    const reason = this.#whyNotNow(jvm, now);
    if (reason !== undefined) return reason;
    if (this.#marker?.isInPlace() !== true) return 'something removed the marker file at once';
    // Set before the signal: there is no second try, whatever happens.
    history.refusal =
      `no attach socket ${this.#openTimeoutMs} ms after SIGQUIT, which is not tried again until the JVM is restarted. Does it run ` +
      'with -XX:+DisableAttachMechanism? If so, its standard output now has a dump of its threads';
    try {
      this.#system.kill(pid, 'SIGQUIT');
    } catch (cause) {
      history.refusal = `the JVM may not be sent SIGQUIT (${describeErrno(cause)}): run the sidecar as the JVM’s user, or as root with CAP_KILL`;
      return history.refusal;
    }
    return undefined;
  }

  async #awaitSocket(jvm: VisibleJvm, checked: ProcessInfo, socketPath: string, history: History) {
    const { signal } = this.#closing;
    let pauseMs = FIRST_PAUSE_MS;
    let waitedMs = 0;
    while (waitedMs < this.#openTimeoutMs && !signal.aborted) {
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
      // Any other file of that name may be an attempt to have the marker removed before the JVM has seen it.
      if (isSocketOf(lstatSync(socketPath, { throwIfNoEntry: false }), jvm)) {
        history.openings += 1;
        history.refusal = undefined;
        return undefined;
      }
      const now = readProcess(this.#system.procPath, checked.pid);
      if (now?.startTicks !== checked.startTicks || isZombie(now)) return GONE;
      // A stopped JVM sees the signal when it continues, and must find the marker then: meanwhile no time counts.
      waitedMs = isStopped(now) || now.isQuitPending ? 0 : waitedMs + pauseMs;
      pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
    }
    return history.refusal;
  }
}

const INVISIBLE =
  'there is no attach socket, and the JVM’s process is not visible from here: share its process namespace, or start the ' +
  'JVM with -XX:+StartAttachListener';
const GONE = 'the JVM’s process has ended';
const STOPPING = 'the sidecar is stopping';
const OCCUPIED = 'something else occupies the path of the attach socket: find out who created it, and remove it';

function keyOf({ pid, startTicks }: VisibleJvm): string {
  return `${pid}:${startTicks}`;
}

function isSocketOf(found: Stats | undefined, jvm: VisibleJvm): boolean {
  return found !== undefined && whyNotOf(found, jvm) === undefined;
}
