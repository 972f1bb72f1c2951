import type { Cost } from '../attacker/attacker.ts';
import type { CrowdResult } from '../users/crowd.ts';

/** The effect of one flood. Memory is resident memory. */
export interface FloodResult {
  readonly isShort: boolean;
  readonly cost: Cost;
  readonly users: CrowdResult;
  /** The largest part of a second that other programs took of the sidecar's core. */
  readonly lostMs: number;
  readonly startBytes: number;
  readonly peakBytes: number;
  /** Undefined when the process has ended. */
  readonly afterBytes: number | undefined;
  /** How it ended; undefined while it runs. */
  readonly lastWords: string | undefined;
  /** From the end of the flood until the descriptors are closed; undefined: they never were. */
  readonly overAfterMs: number | undefined;
  /** Descriptors above those in calm, at the end. */
  readonly leftOpen: number;
  /** Values of the honest Comet user that the sidecar counted; undefined if it did not answer. */
  readonly countedValues: number | undefined;
  readonly sessions: number | undefined;
}
