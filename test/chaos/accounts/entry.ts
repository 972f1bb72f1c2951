import type { CallKind, CallPlan } from '../truth/call-plan.ts';
import { isWithin, type SocketPlan } from '../truth/socket-plan.ts';

/**
 * - `answered`: the upstream's answer arrived, complete and correct; a WebSocket was opened and ended in order.
 * - `problem`: the sidecar answered instead of the upstream (502, 504).
 * - `failed`: the connection broke before everything had arrived.
 * - `closed`: the sidecar ended a WebSocket with a close frame of its own.
 * - `aborted`: the client left early, as its plan says.
 * - `unconnected`: the connection was not accepted.
 * - `hung`: nothing arrived for so long that the harness gave up; never correct.
 */
export type Outcome = 'answered' | 'problem' | 'failed' | 'closed' | 'aborted' | 'unconnected' | 'hung';

export interface Entry {
  readonly id: string;
  readonly kind: CallKind | 'socket';
  readonly outcome: Outcome;
  readonly status: number;
  /** Code of a problem, or the error that broke the connection, or ''. */
  readonly reason: string;
  /** The start of the sidecar that accepted the connection; undefined: none. */
  readonly life: number | undefined;
  readonly isHeadSent: boolean;
  readonly hasAnswerBegun: boolean;
  readonly isRequestSent: boolean;
  /** An answer without a length ended in order, but too early. */
  readonly wasCut: boolean;
  readonly wrong: string | undefined;
  /** The previous call on the same connection, e.g. `r16`; undefined on a new one. */
  readonly before: string | undefined;
  readonly beganMs: number;
  readonly endedMs: number;
  readonly sentMessages: number;
  readonly echoes: number;
}

/** How a call may end by its plan, unless its client leaves. */
export function outcomesOf({ isRequestSent, reason }: Entry, { fault, halfCloses }: CallPlan): readonly Outcome[] {
  // The upstream leaves with unread bytes, so its kernel resets the connection: the answer may be lost.
  if (fault === 'early-close') return ['answered', 'problem', 'failed'];
  // A client that is still sending may find the connection closed before it has read the answer.
  if (fault === 'reset-before' || fault === 'close-before' || fault === 'rubbish')
    return isRequestSent ? ['problem'] : ['problem', 'failed'];
  // A reset overtakes data sent before it.
  if (fault === 'reset-within') return ['failed', 'problem'];
  if (fault === 'close-within' || fault === 'rubbish-within') return ['failed'];
  if (fault !== 'never') return ['answered'];
  // An upstream that sees the client's end closes as well.
  return reason === 'D2S_ERR_UPSTREAM_TIMEOUT' || halfCloses ? ['problem', 'failed'] : ['aborted'];
}

export function socketOutcomesOf({ fault }: SocketPlan): readonly Outcome[] {
  if (fault === 'reset-before') return ['problem'];
  if (fault === 'never') return ['aborted', 'problem'];
  // A client that was told to stop may have closed in order before the planned fault.
  return isWithin(fault) ? ['failed', 'problem', 'answered'] : ['answered'];
}

/** Whether a request just after this call may get a 502: its upstream's connection may be closing (docs/architecture.md). */
export function leavesConnectionClosing({ fault }: CallPlan): boolean {
  return fault === 'half-close' || fault === 'twice' || fault === 'close-after' || fault === 'early-close';
}
