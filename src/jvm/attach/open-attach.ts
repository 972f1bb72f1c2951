/**
 * Makes a JVM open its attach socket, by a marker file and SIGQUIT. The signal is dangerous: it ends a process that does not
 * handle it, and makes a JVM that does not expect it print all its threads. So everything is checked before, most of it once
 * more right before the signal, and a JVM that does not open its socket is never asked again.
 */
import { lstatSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { below, openTmp, socketNameOf, toErrno } from './attach-socket.ts';
import type { AttachSystem, AttachTarget } from './attach-target.ts';
import { placeMarker } from './marker.ts';
import { isAttachDisabled, isJvm, type ProcessState, readProcessState } from './process-state.ts';

export type OpenResult = { readonly kind: 'open' } | { readonly kind: 'closed'; readonly reason: string };

export interface AttachOpenerOptions {
  readonly system: AttachSystem;
  /** What the JVM may take for it; measured: 16 ms, but a long collection comes first. Default 5 s. */
  readonly openTimeoutMs?: number;
}

const OPEN_TIMEOUT_MS = 5_000;
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
  #underWay: Promise<OpenResult> | undefined;
  #signals = 0;

  constructor({ system, openTimeoutMs = OPEN_TIMEOUT_MS }: AttachOpenerOptions) {
    this.#system = system;
    this.#openTimeoutMs = openTimeoutMs;
  }

  /** Signals sent since the start. */
  get signals(): number {
    return this.#signals;
  }

  /**
   * To be called when there is no socket. Never rejects. May take `openTimeoutMs`: the marker has to stay until the JVM has
   * seen it, whoever still waits; a second call joins the first.
   */
  open(target: AttachTarget): Promise<OpenResult> {
    this.#underWay ??= this.#open(target)
      .catch((cause: unknown) => closed(`the attach socket cannot be opened (${toErrno(cause)})`))
      .finally(() => {
        this.#underWay = undefined;
      });
    return this.#underWay;
  }

  /** Ends a wait under way, and takes its marker away. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#underWay;
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
      history.refusal ?? this.#whyNotNow(target, state) ?? this.#whyNever(pid, history) ?? this.#whyNoMore(history);
    if (reason !== undefined || state === undefined) return closed(reason ?? GONE);

    const marker = await placeMarker(pid, target, this.#system);
    if (typeof marker === 'string') return closed(marker);
    let folder: FileHandle | undefined;
    try {
      folder = await openTmp(target, this.#system);
      const socketPath = below(folder, socketNameOf(target));
      const refused = this.#signal(pid, target, state, history, socketPath);
      return refused ?? (await this.#awaitSocket(pid, socketPath, history));
    } finally {
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
    if (state.nspid !== target.nspid || state.uid !== target.uid)
      return `process ${target.pid} is not the JVM that was found`;
    // The JVM itself asks for both.
    if (uid !== 0 && (uid !== state.uid || gid !== state.gid)) {
      return `the JVM lets only its own user and group attach (${state.uid}:${state.gid}), or root; the sidecar runs as ${uid}:${gid}`;
    }
    if (state.state === 'T' || state.state === 't') return 'the JVM is stopped (SIGSTOP or a debugger)';
    if (!state.catchesQuit)
      return 'SIGQUIT would kill the JVM: it is just starting, or runs with -Xrs; with -Xrs add -XX:+StartAttachListener';
    return undefined;
  }

  /** Reasons that stay for as long as this process lives. Looked for once, as they take some reading. */
  #whyNever(pid: number, history: History): string | undefined {
    if (history.openings > 0) return undefined;
    const { procPath } = this.#system;
    if (!isJvm(procPath, pid)) history.refusal = `process ${pid} does not run HotSpot (no libjvm.so in it)`;
    else if (isAttachDisabled(procPath, pid))
      history.refusal = 'the JVM runs with -XX:+DisableAttachMechanism: remove it';
    return history.refusal;
  }

  #whyNoMore({ openings }: History): string | undefined {
    if (openings < MAX_OPENINGS_PER_JVM) return undefined;
    return `the attach socket has been opened ${openings} times and was removed each time: see what cleans /tmp`;
  }

  /** From the last look at the process to the signal nothing else runs. */
  #signal(
    pid: number,
    target: AttachTarget,
    checked: ProcessState,
    history: History,
    socketPath: string,
  ): OpenResult | undefined {
    if (this.#closing.signal.aborted) return closed('the sidecar stops');
    const now = readProcessState(this.#system.procPath, pid);
    if (now?.startTicks !== checked.startTicks) return closed(GONE);
    const reason = this.#whyNotNow(target, now);
    if (reason !== undefined) return closed(reason);
    // Another program's doing. A JVM that has its socket answers SIGQUIT with its threads, marker or not.
    if (exists(socketPath)) return { kind: 'open' };
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

  async #awaitSocket(pid: number, socketPath: string, history: History): Promise<OpenResult> {
    const { signal } = this.#closing;
    let pauseMs = FIRST_PAUSE_MS;
    let waitedMs = 0;
    while (waitedMs < this.#openTimeoutMs && !signal.aborted) {
      // Closing ends the pause, too.
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
      if (exists(socketPath)) {
        history.openings += 1;
        history.refusal = undefined;
        return { kind: 'open' };
      }
      const state = readProcessState(this.#system.procPath, pid)?.state;
      if (state === undefined || state === 'Z') return closed(GONE);
      // While it is stopped its time does not run: it sees the signal when it goes on, and must find the marker then.
      waitedMs = state === 'T' || state === 't' ? 0 : waitedMs + pauseMs;
      pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
    }
    return closed(history.refusal ?? GONE);
  }
}

const GONE = 'the JVM’s process has ended';

function closed(reason: string): OpenResult {
  return { kind: 'closed', reason };
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
