/**
 * Makes a JVM open its attach socket, by a marker file and SIGQUIT. The signal is dangerous: it ends a process that does not
 * handle it, and makes a JVM that does not expect it print all its threads. So everything is checked before, most of it once
 * more right before the signal, and a JVM that does not open its socket is never asked again.
 */
import { lstatSync, type Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { below, openTmp, socketNameOf, toErrno, whyNotOf } from './attach-socket.ts';
import type { AttachSystem, AttachTarget } from './attach-target.ts';
import { type Marker, placeMarker } from './marker.ts';
import {
  hasOwnUserNamespace,
  hasSignalDispatcher,
  isAboutToListen,
  isAttachDisabled,
  isHotSpot,
  isOwnProc,
  type ProcessState,
  readProcessState,
} from './process-state.ts';

export type OpenResult = { readonly kind: 'open' } | { readonly kind: 'closed'; readonly reason: string };

export interface AttachOpenerOptions {
  readonly system: AttachSystem;
  /**
   * What the JVM may take for it; measured: 16 ms, but a collection comes first, and those of large heaps take many seconds. If
   * the marker went before it is through, it would print its threads. Default 60 s.
   */
  readonly openTimeoutMs?: number;
}

const OPEN_TIMEOUT_MS = 60_000;
const FIRST_PAUSE_MS = 5;
const MAX_PAUSE_MS = 100;
/** Starts of JVMs that are remembered; the oldest is forgotten first. */
const MAX_REMEMBERED = 64;
/** A cleaner of /tmp removes sockets now and then. One that removes each of them at once is not raced with. */
const MAX_OPENINGS_PER_JVM = 16;

/** Of one start of one JVM. */
interface History {
  openings: number;
  /** Set once for all. */
  refusal: string | undefined;
}

export class AttachOpener {
  readonly #system: AttachSystem;
  readonly #openTimeoutMs: number;
  /** By pid and start time. */
  readonly #histories = new Map<string, History>();
  readonly #closing = new AbortController();
  #underWay: { readonly key: string; readonly result: Promise<OpenResult> } | undefined;
  #marker: Marker | undefined;
  #signals = 0;

  constructor({ system, openTimeoutMs = OPEN_TIMEOUT_MS }: AttachOpenerOptions) {
    this.#system = system;
    this.#openTimeoutMs = openTimeoutMs;
  }

  /** Signals sent since the start. */
  get signals(): number {
    return this.#signals;
  }

  /** Whether this JVM has been asked, and has neither done it nor had its time. */
  isOpening(target: AttachTarget): boolean {
    return this.#underWay?.key === keyOf(target);
  }

  /**
   * To be called when there is no socket. Never rejects. May take `openTimeoutMs`, and more for a JVM that is stopped: the
   * marker has to stay until the JVM has seen it, whoever still waits. A second call for the same JVM joins the first; another
   * JVM is not asked meanwhile.
   */
  open(target: AttachTarget): Promise<OpenResult> {
    const key = keyOf(target);
    if (this.#underWay !== undefined && this.#underWay.key !== key)
      return Promise.resolve(
        closed(`process ${this.#underWay.key.split(':')[0]} is still being asked for its attach socket`),
      );
    this.#underWay ??= {
      key,
      result: this.#open(target)
        .catch((cause: unknown) => closed(`the attach socket cannot be opened (${toErrno(cause)})`))
        .finally(() => {
          this.#underWay = undefined;
        }),
    };
    return this.#underWay.result;
  }

  /** Ends a wait under way. Its marker is gone when this returns, not only when it resolves: the process may end at once. */
  close(): Promise<void> {
    this.#closing.abort();
    this.#marker?.removeNow();
    return this.#underWay?.result.then(() => undefined) ?? Promise.resolve();
  }

  async #open(target: AttachTarget): Promise<OpenResult> {
    const { pid } = target;
    if (pid === undefined) {
      return closed(
        'there is no attach socket, and the JVM’s process is not visible from here: share its process namespace, or start the ' +
          'JVM with -XX:+StartAttachListener',
      );
    }
    const state = readProcessState(this.#system.procPath, pid);
    const history = this.#historyOf(pid, state);
    const reason =
      history.refusal ??
      this.#whyNotNow(target, state) ??
      this.#whyNoMore(history) ??
      (await this.#whyNever(pid, history)) ??
      (await this.#whyNotReady(pid, state, history));
    if (reason !== undefined || state === undefined) return closed(reason ?? GONE);

    if (this.#closing.signal.aborted) return closed(STOPPING);
    const marker = await placeMarker(pid, target, this.#system);
    if (typeof marker === 'string') return closed(marker);
    this.#marker = marker;
    let folder: FileHandle | undefined;
    try {
      folder = await openTmp(target, this.#system);
      const socketPath = below(folder, socketNameOf(target));
      const refused = this.#signal(target, state, history, socketPath);
      return refused ?? (await this.#awaitSocket(target, state, socketPath, history));
    } finally {
      this.#marker = undefined;
      await marker.remove();
      await folder?.close();
    }
  }

  #historyOf(pid: number, state: ProcessState | undefined): History {
    const key = `${pid}:${state?.startTicks}`;
    const history = this.#histories.get(key) ?? { openings: 0, refusal: undefined };
    if (state === undefined) return history;
    this.#histories.set(key, history);
    for (const oldest of this.#histories.keys()) {
      if (this.#histories.size <= MAX_REMEMBERED) break;
      this.#histories.delete(oldest);
    }
    return history;
  }

  /** Reasons that may pass. */
  #whyNotNow(target: AttachTarget, state: ProcessState | undefined): string | undefined {
    const { uid, gid } = this.#system;
    if (state === undefined || state.state === 'Z' || state.state === 'X') return GONE;
    const isFound = target.startTicks === undefined || target.startTicks === state.startTicks;
    if (state.nspid !== target.nspid || state.uid !== target.uid || !isFound)
      return `process ${target.pid} is not the JVM that was found`;
    if (!isOwnProc(this.#system.procPath, this.#system.pid))
      return 'the processes of /proc have other numbers than ours, so that a signal would reach another process: mount its own /proc';
    // The JVM itself asks for both.
    if (uid !== 0 && (uid !== state.uid || gid !== state.gid)) {
      return `the JVM lets only its own user and group attach (${state.uid}:${state.gid}), or root; the sidecar runs as ${uid}:${gid}`;
    }
    if (state.state === 'T' || state.state === 't') return 'the JVM is stopped (SIGSTOP or a debugger)';
    if (!state.catchesQuit)
      return 'SIGQUIT would kill the JVM: it is just starting, or runs with -Xrs; with -Xrs add -XX:+StartAttachListener';
    return undefined;
  }

  /** Reasons that stay for as long as this process lives. */
  async #whyNever(pid: number, history: History): Promise<string | undefined> {
    const { procPath, uid } = this.#system;
    if (!(await isHotSpot(procPath, pid)))
      history.refusal = `process ${pid} does not run HotSpot (no libjvm.so of it in its memory)`;
    else if (await isAttachDisabled(procPath, pid))
      history.refusal = 'the JVM runs with -XX:+DisableAttachMechanism: remove it';
    else if (uid === 0 && !(await hasOwnUserNamespace(procPath, pid)))
      history.refusal =
        'the JVM is in another user namespace, where our root is nobody: run the sidecar as the JVM’s user';
    return history.refusal;
  }

  async #whyNotReady(pid: number, state: ProcessState | undefined, { openings }: History): Promise<string | undefined> {
    const { procPath } = this.#system;
    if (state === undefined) return GONE;
    if (!(await hasSignalDispatcher(procPath, pid)))
      return 'SIGQUIT would go to a handler that is not the JVM’s: it is just starting, or runs with -Xrs and has to be restarted';
    // Its socket was there already: it has been removed since.
    const isStarting = openings === 0 && (await isAboutToListen(procPath, pid, state));
    return isStarting ? 'the JVM is just starting, and about to open its attach socket' : undefined;
  }

  #whyNoMore({ openings }: History): string | undefined {
    if (openings < MAX_OPENINGS_PER_JVM) return undefined;
    return `the attach socket has been opened ${openings} times and was removed each time: see what cleans /tmp`;
  }

  /** From the last look at the process to the signal nothing else runs. */
  #signal(target: AttachTarget, checked: ProcessState, history: History, socketPath: string): OpenResult | undefined {
    const pid = target.pid as number;
    if (this.#closing.signal.aborted) return closed(STOPPING);
    const now = readProcessState(this.#system.procPath, pid);
    if (now?.startTicks !== checked.startTicks) return closed(GONE);
    const reason = this.#whyNotNow(target, now);
    if (reason !== undefined) return closed(reason);
    // Another program's doing. A JVM that has its socket answers SIGQUIT with its threads, marker or not.
    const found = lstatSync(socketPath, { throwIfNoEntry: false });
    if (found !== undefined) return isSocketOf(found, target) ? { kind: 'open' } : closed(OCCUPIED);
    if (this.#marker?.isInPlace() !== true) return closed('something has removed the marker file at once');
    // Before the signal: whatever comes of it, there is no second try.
    history.refusal =
      `no attach socket ${this.#openTimeoutMs} ms after SIGQUIT, which is not tried again until the JVM is restarted. Does it run ` +
      'with -XX:+DisableAttachMechanism? If so, its standard output now has a dump of its threads';
    try {
      this.#system.kill(pid, 'SIGQUIT');
    } catch (cause) {
      history.refusal = `the JVM may not be sent SIGQUIT (${toErrno(cause)}): run the sidecar as the JVM’s user, or as root with CAP_KILL`;
      return closed(history.refusal);
    }
    this.#signals += 1;
    return undefined;
  }

  async #awaitSocket(
    target: AttachTarget,
    checked: ProcessState,
    socketPath: string,
    history: History,
  ): Promise<OpenResult> {
    const { signal } = this.#closing;
    let pauseMs = FIRST_PAUSE_MS;
    let waitedMs = 0;
    while (waitedMs < this.#openTimeoutMs && !signal.aborted) {
      // Closing ends the pause, too.
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
      // Anything else of that name is somebody's who wants the marker gone before the JVM has seen it.
      if (isSocketOf(lstatSync(socketPath, { throwIfNoEntry: false }), target)) {
        history.openings += 1;
        history.refusal = undefined;
        return { kind: 'open' };
      }
      const now = readProcessState(this.#system.procPath, target.pid as number);
      if (now?.startTicks !== checked.startTicks || now.state === 'Z' || now.state === 'X') return closed(GONE);
      // While it is stopped its time does not run: it sees the signal when it goes on, and must find the marker then.
      const isStopped = now.state === 'T' || now.state === 't' || now.isQuitPending;
      waitedMs = isStopped ? 0 : waitedMs + pauseMs;
      pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
    }
    return closed(history.refusal ?? GONE);
  }
}

const GONE = 'the JVM’s process has ended';
const STOPPING = 'the sidecar stops';
const OCCUPIED = 'something else has the name of the attach socket: see who made it, and remove it';

function keyOf({ pid, startTicks }: AttachTarget): string {
  return `${pid}:${startTicks}`;
}

function closed(reason: string): OpenResult {
  return { kind: 'closed', reason };
}

function isSocketOf(found: Stats | undefined, target: AttachTarget): boolean {
  return found !== undefined && whyNotOf(found, target) === undefined;
}
