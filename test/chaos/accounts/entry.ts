import type { CallKind } from '../truth/call-plan.ts';

/**
 * - `answered`: the upstream's answer arrived, complete and correct; a WebSocket was opened and ended in order.
 * - `problem`: the sidecar answered instead of the upstream (502, 504).
 * - `failed`: the connection broke before everything had arrived.
 * - `closed`: the sidecar ended a WebSocket with a close frame of its own.
 * - `aborted`: the client left early, as its plan says.
 * - `unconnected`: the connection was not accepted.
 * - `hung`: nothing arrived for so long that the harness gave up; never correct.
 */
export const OUTCOMES = ['answered', 'problem', 'failed', 'closed', 'aborted', 'unconnected', 'hung'] as const;

export type Outcome = (typeof OUTCOMES)[number];

export type EntryKind = CallKind | 'socket';

export const ENTRY_KINDS: readonly EntryKind[] = ['rpc', 'object', 'page', 'sba', 'comet', 'socket'];

export interface Entry {
  readonly id: string;
  readonly kind: EntryKind;
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
