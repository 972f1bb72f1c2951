import type { Cost } from '../attacker/attacker.ts';
import type { CrowdResult } from '../users/crowd.ts';

/** What one flood did. Memory is what is resident. */
export interface FloodResult {
  readonly cost: Cost;
  readonly users: CrowdResult;
  /** The most of a second that other programs of the machine took of the sidecar's core. */
  readonly lostMs: number;
  readonly startBytes: number;
  readonly peakBytes: number;
  /** Undefined when the process has ended. */
  readonly afterBytes: number | undefined;
  /** How it ended; undefined while it lives. */
  readonly lastWords: string | undefined;
  /** From the end of the flood until the descriptors are closed again; undefined: they were not. */
  readonly overAfterMs: number | undefined;
  /** Descriptors above those of the calm, at the end. */
  readonly leftOpen: number;
  /** Values of the honest Comet user that the sidecar has counted; undefined when it could not be asked. */
  readonly countedValues: number | undefined;
  readonly sessions: number | undefined;
}
