/** What a client knows of one call or WebSocket when it is over. */
import type { CallKind } from '../truth/call-plan.ts';

/**
 * - `answered`: the upstream's answer has come, whole and right; a WebSocket was opened and has ended in order.
 * - `problem`: the sidecar has answered in the upstream's place (502, 504).
 * - `failed`: the connection broke before all had come.
 * - `closed`: a WebSocket that the sidecar has ended by a close frame of its own.
 * - `aborted`: the client left before all had come, as its plan says.
 * - `unconnected`: nobody took the connection.
 * - `hung`: nothing came for so long that the harness gave up; never right.
 */
export const OUTCOMES = ['answered', 'problem', 'failed', 'closed', 'aborted', 'unconnected', 'hung'] as const;

export type Outcome = (typeof OUTCOMES)[number];

export type EntryKind = CallKind | 'socket';

export const ENTRY_KINDS: readonly EntryKind[] = ['rpc', 'object', 'page', 'sba', 'comet', 'socket'];

export interface Entry {
  readonly id: string;
  readonly kind: EntryKind;
  readonly outcome: Outcome;
  /** Of the answer, 0 without one. */
  readonly status: number;
  /** Code of a problem, else the error that broke the connection, or ''. */
  readonly reason: string;
  /** Which start of the sidecar took the connection; undefined: none. */
  readonly life: number | undefined;
  /** The request's head has been written as a whole. */
  readonly isHeadSent: boolean;
  /** Some of an answer has come. */
  readonly hasAnswerBegun: boolean;
  /** The whole request has been written. */
  readonly isRequestSent: boolean;
  /** An answer without a length of its own ended in order, but too early. */
  readonly wasCut: boolean;
  /** What was wrong with what came; undefined: nothing. */
  readonly wrong: string | undefined;
  /** What had gone over the same connection before, e.g. `r16`; undefined on a new one. */
  readonly before: string | undefined;
  readonly beganMs: number;
  readonly endedMs: number;
  /** Messages of a WebSocket. */
  readonly sentMessages: number;
  readonly echoes: number;
}
