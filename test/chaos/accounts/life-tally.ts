/** The clients' counts for one life of the sidecar, in the terms of its metrics. */
import type { CallPlan } from '../truth/call-plan.ts';
import type { SocketPlan } from '../truth/socket-plan.ts';
import type { Entry, Outcome } from './entry.ts';
import type { Seen } from './ledger-reader.ts';

/** `sure`: the sidecar has begun them. `perhaps`: their client left at a moment when that cannot be known. */
export interface Begun {
  sure: number;
  perhaps: number;
}

export class LifeTally {
  connected = 0;
  readonly rpc = { below500: 0, errors: 0, broken: 0 };
  readonly object = { values: 0, others: 0, broken: 0 };
  readonly page: Begun = { sure: 0, perhaps: 0 };
  readonly sba: Begun = { sure: 0, perhaps: 0 };
  readonly comet: Begun = { sure: 0, perhaps: 0 };
  readonly live: Begun = { sure: 0, perhaps: 0 };
  readonly upgrades: Begun = { sure: 0, perhaps: 0 };
  readonly completed: Begun = { sure: 0, perhaps: 0 };
  readonly failed: Begun = { sure: 0, perhaps: 0 };
  readonly pushedValues: Begun = { sure: 0, perhaps: 0 };
  readonly clientMessages: Begun = { sure: 0, perhaps: 0 };
  readonly serverMessages: Begun = { sure: 0, perhaps: 0 };
  /** Users with an accepted call. */
  readonly users = new Set<number>();

  noteCall(entry: Entry, plan: CallPlan, seen: Seen | undefined): void {
    const { outcome, status, kind } = entry;
    if (outcome === 'unconnected') return;
    // An answer without a length that ended in order looks complete to all who do not know its length.
    const isAnswered = outcome === 'answered' || entry.wasCut;
    const isBroken = !isAnswered && (outcome === 'problem' || outcome === 'failed');
    const isSure = isAnswered || isBroken || entry.hasAnswerBegun || (seen?.heads ?? 0) > 0;
    if (!isSure && !entry.isHeadSent) return;
    this.#noteEnding(isAnswered, isBroken, plan.halfCloses);
    if (kind === 'rpc') {
      if (isAnswered && status < 500) this.rpc.below500 += 1;
      else this.rpc.errors += 1;
      if (isBroken) this.rpc.broken += 1;
    } else if (kind === 'object') {
      if (isAnswered && status < 400) this.object.values += 1;
      else if (isAnswered) this.object.others += 1;
      else this.object.broken += 1;
    } else if (kind === 'page' || kind === 'sba') note(this[kind], isSure);
    else this.#notePoll(outcome, isSure, plan.answer.values);
    if (isAnswered && status < 400 && kind !== 'page' && kind !== 'comet') this.users.add(plan.user);
  }

  noteSocket(entry: Entry, plan: SocketPlan, seen: Seen | undefined): void {
    const { outcome, status } = entry;
    if (outcome === 'unconnected') return;
    const isSure = outcome !== 'aborted' || entry.hasAnswerBegun || (seen?.heads ?? 0) > 0;
    note(plan.isComet ? this.comet : this.live, isSure);
    if (outcome === 'aborted' && status === 0) this.upgrades.perhaps += 1;
    if (status === 101) this.upgrades.sure += 1;
    const isBroken = (outcome === 'problem' || outcome === 'failed') && status !== 101;
    this.#noteEnding(status === 101 || outcome === 'answered', isBroken, false);
    if (!plan.isComet) return;
    add(this.clientMessages, entry.echoes, entry.sentMessages);
    add(this.serverMessages, entry.echoes, seen?.messages ?? 0);
  }

  #noteEnding(isAnswered: boolean, isBroken: boolean, halfCloses: boolean): void {
    if (isAnswered) this.completed.sure += 1;
    // If the client has closed its side, the sidecar may count a failure as a cancellation.
    else if (isBroken && !halfCloses) this.failed.sure += 1;
    else {
      this.completed.perhaps += 1;
      this.failed.perhaps += 1;
    }
  }

  #notePoll(outcome: Outcome, isSure: boolean, values: number): void {
    const isAnswered = outcome === 'answered';
    note(this.comet, isSure);
    add(this.clientMessages, isAnswered ? 1 : 0, 1);
    // An incomplete answer is not counted, unless its client did not wait for the end.
    if (!isAnswered && outcome !== 'aborted') return;
    add(this.pushedValues, isAnswered ? values : 0, values);
    add(this.serverMessages, isAnswered ? values + 1 : 0, values + 1);
  }
}

function note(begun: Begun, isSure: boolean): void {
  if (isSure) begun.sure += 1;
  else begun.perhaps += 1;
}

function add(begun: Begun, sure: number, most: number): void {
  begun.sure += sure;
  begun.perhaps += Math.max(0, most - sure);
}
