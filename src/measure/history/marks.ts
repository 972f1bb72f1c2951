import type { Clock } from '../../base/clock.ts';
import type { JvmState } from '../../jvm/jvm-monitor.ts';
import type { Upstream } from '../../proxy/upstream/upstream.ts';
import { describeTlsFault } from '../../tls/tls-fault.ts';

/** Sources that the history watches for changes; read at each check. */
export interface MarkSources {
  readonly upstream: { readonly reachability: UpstreamCondition };
  /** `failures`: number of failed readings; absent when no source is configured. */
  readonly jvm: { readonly state: JvmState; readonly failures?: number };
  readonly lifecycle: { readonly state: string };
  readonly reloads: { readonly lastAppliedEpochMs: number };
}

export type UpstreamCondition = Upstream['condition'];

export type MarkKind =
  | ('start' | 'restored' | 'drain' | 'reload' | 'verdict' | 'note' | 'history')
  | ('upstreamLost' | 'upstreamBack' | 'jvmLost' | 'jvmBack' | 'jvmRestart');

/** Kinds of marks that last until their end is known, at the latest until the sidecar stops. */
export const LASTING: readonly MarkKind[] = ['upstreamLost', 'jvmLost', 'verdict', 'history'];

/** An event, e.g. `{ epochMs: 1793966400000, kind: 'reload', text: 'The configuration was reloaded.' }`. */
export interface Mark {
  readonly epochMs: number;
  readonly kind: MarkKind;
  readonly text: string;
  /** When what it describes was over; absent while it lasts, and for a moment. */
  endEpochMs?: number;
}

/** Ends what lasts, but not before it began: the clock may have been set back. */
export function endMark(mark: Mark, epochMs: number): void {
  mark.endEpochMs = Math.max(mark.epochMs, epochMs);
}

/** More than occur in an hour, unless something flaps. */
const MAX_MARKS = 200;

/** The events of the last hour. `check` compares the sources with their state at the last check, and marks each change. */
export class Marks {
  readonly #sources: MarkSources;
  readonly #clock: Clock;
  /** Oldest first. */
  readonly all: Mark[] = [];
  dropped = 0;
  #upstream: UpstreamCondition;
  /** Undefined until known: a source that has not been read yet is not lost. */
  #jvm: JvmState['kind'] | undefined;
  #loadedClasses = 0;
  #collections = 0;
  #isServing = false;
  #reloadedEpochMs: number;
  #outage: Mark | undefined;
  #jvmOutage: Mark | undefined;

  constructor(sources: MarkSources, clock: Clock) {
    this.#sources = sources;
    this.#clock = clock;
    this.#upstream = sources.upstream.reachability;
    this.#reloadedEpochMs = sources.reloads.lastAppliedEpochMs;
  }

  /** Returns the mark, whose end may be set later. */
  add(kind: MarkKind, text: string, epochMs = this.#clock.epochMs()): Mark {
    return this.restore({ epochMs, kind, text });
  }

  /** Adds a mark of an earlier process. */
  restore(mark: Mark): Mark {
    this.all.push(mark);
    if (this.all.length > MAX_MARKS) {
      this.all.shift();
      this.dropped += 1;
    }
    return mark;
  }

  /** Ends what lasts: nobody sees its end once the sidecar has stopped. */
  end(): void {
    for (const mark of this.all) {
      if (LASTING.includes(mark.kind) && mark.endEpochMs === undefined) endMark(mark, this.#clock.epochMs());
    }
  }

  check(): void {
    this.#checkUpstream();
    this.#checkJvm();
    this.#checkSidecar();
  }

  #checkUpstream(): void {
    const before = this.#upstream;
    const now = this.#sources.upstream.reachability;
    this.#upstream = now;
    if (now.kind === 'unreachable') {
      const isSame = before.kind === 'unreachable' && before.sinceEpochMs === now.sinceEpochMs;
      const text = now.isTls
        ? `TLS with the upstream fails: ${describeTlsFault(now.reason).text} (${now.reason}).`
        : `The upstream takes no connections: ${now.reason}.`;
      if (!isSame) this.#outage = this.add('upstreamLost', text, now.sinceEpochMs);
      return;
    }
    // Also true when it was lost and came back between two checks.
    if (now.kind === 'reachable' && before.kind !== 'unknown' && before.sinceEpochMs !== now.sinceEpochMs)
      this.#back('upstreamBack', 'The upstream takes connections again.', now.sinceEpochMs, this.#outage);
  }

  #checkJvm(): void {
    const { state, failures = 0 } = this.#sources.jvm;
    const before = this.#jvm;
    if (state.kind === 'unavailable') {
      if (before === undefined && failures === 0) return;
      this.#jvm = 'unavailable';
      if (before === 'available')
        this.#jvmOutage = this.add('jvmLost', `The JVM cannot be read: ${state.reason}`, state.sinceEpochMs);
      return;
    }
    this.#jvm = 'available';
    if (before === 'unavailable') this.#back('jvmBack', 'The JVM can be read.', state.sinceEpochMs, this.#jvmOutage);
    const { classes, collectors } = state.reading;
    // Detects a restart by counters that have fallen, since no source says when its JVM started.
    const loadedClasses = classes.loaded ?? 0;
    const collections = [...collectors.values()].reduce((sum, { count = 0 }) => sum + count, 0);
    const hasRestarted = loadedClasses < this.#loadedClasses || collections < this.#collections;
    this.#loadedClasses = loadedClasses;
    this.#collections = collections;
    if (hasRestarted) this.add('jvmRestart', 'The JVM has restarted.');
  }

  #checkSidecar(): void {
    const isServing = this.#sources.lifecycle.state === 'serving';
    if (this.#isServing && !isServing) this.add('drain', 'The sidecar has begun to drain.');
    this.#isServing = isServing;
    const { lastAppliedEpochMs } = this.#sources.reloads;
    if (lastAppliedEpochMs === this.#reloadedEpochMs) return;
    this.#reloadedEpochMs = lastAppliedEpochMs;
    this.add('reload', 'The configuration was reloaded.', lastAppliedEpochMs);
  }

  #back(kind: MarkKind, text: string, epochMs: number, outage: Mark | undefined): void {
    this.add(kind, text, epochMs);
    if (outage !== undefined) endMark(outage, epochMs);
  }
}
