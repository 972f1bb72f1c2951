/** The clients' counts for one life of the sidecar, in the terms of its metrics. */
import type { CallPlan } from '../truth/call-plan.ts';
import type { Seen } from '../truth/ledger.ts';
import type { SocketPlan } from '../truth/socket-plan.ts';
import type { Entry, Outcome } from './entry.ts';

/** `sure`: the sidecar has begun them. `perhaps`: their client left at a moment when that cannot be known. */
export class Begun {
  sure = 0;
  perhaps = 0;

  note(isSure: boolean): void {
    this.add(Number(isSure), 1);
  }

  add(sure: number, most: number): void {
    this.sure += sure;
    this.perhaps += Math.max(0, most - sure);
  }
}

export class LifeTally {
  connected = 0;
  readonly rpc = { below500: 0, errors: 0, broken: 0 };
  readonly object = { values: 0, others: 0, broken: 0 };
  readonly page = new Begun();
  readonly sba = new Begun();
  readonly comet = new Begun();
  readonly live = new Begun();
  readonly upgrades = new Begun();
  readonly completed = new Begun();
  readonly failed = new Begun();
  readonly pushedValues = new Begun();
  readonly clientMessages = new Begun();
  readonly serverMessages = new Begun();
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
      this.rpc[isAnswered && status < 500 ? 'below500' : 'errors'] += 1;
      if (isBroken) this.rpc.broken += 1;
    } else if (kind === 'object')
      this.object[!isAnswered ? 'broken' : bringsValue(status, plan) ? 'values' : 'others'] += 1;
    else if (kind === 'page' || kind === 'sba') this[kind].note(isSure);
    else this.#notePoll(outcome, isSure, plan.answer.values);
    if (isAnswered && status < 400 && kind !== 'page' && kind !== 'comet') this.users.add(plan.user);
  }

  noteSocket(entry: Entry, plan: SocketPlan, seen: Seen | undefined): void {
    const { outcome, status } = entry;
    if (outcome === 'unconnected') return;
    this[plan.isComet ? 'comet' : 'live'].note(outcome !== 'aborted' || entry.hasAnswerBegun || (seen?.heads ?? 0) > 0);
    if (status === 101) this.upgrades.note(true);
    else if (outcome === 'aborted' && status === 0) this.upgrades.note(false);
    const isBroken = (outcome === 'problem' || outcome === 'failed') && status !== 101;
    this.#noteEnding(status === 101 || outcome === 'answered', isBroken, false);
    if (!plan.isComet) return;
    this.clientMessages.add(entry.echoes, entry.sentMessages);
    this.serverMessages.add(entry.echoes, seen?.messages ?? 0);
  }

  #noteEnding(isAnswered: boolean, isBroken: boolean, halfCloses: boolean): void {
    if (isAnswered) this.completed.note(true);
    // If the client has closed its side, the sidecar may count a failure as a cancellation.
    else if (isBroken && !halfCloses) this.failed.note(true);
    else {
      this.completed.note(false);
      this.failed.note(false);
    }
  }

  #notePoll(outcome: Outcome, isSure: boolean, values: number): void {
    const isAnswered = outcome === 'answered';
    this.comet.note(isSure);
    this.clientMessages.add(isAnswered ? 1 : 0, 1);
    // An incomplete answer is not counted, unless its client did not wait for the end.
    if (!isAnswered && outcome !== 'aborted') return;
    this.pushedValues.add(isAnswered ? values : 0, values);
    this.serverMessages.add(isAnswered ? values + 1 : 0, values + 1);
  }
}

/** A read brings a value if it is answered 2xx with content, and not for HEAD. */
function bringsValue(status: number, { method, answer }: CallPlan): boolean {
  return method !== 'HEAD' && status >= 200 && status <= 299 && status !== 204 && answer.bytes > 0;
}
