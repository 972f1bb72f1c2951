import type { Session } from './session.ts';

/** Refers from the tokens of a session to the session, as long as it lasts. Only its table writes it. */
export interface SessionLead {
  /** The table that wrote it; other tables ignore it. */
  readonly table: object;
  /** Undefined after the session has ended. */
  session: Session | undefined;
  /** Number of tokens that the session has dropped. */
  forgotten: number;
}

/**
 * A token with a cached look-up. Reusing this object saves `SessionTable` the look-up, which with 10,000 sessions
 * always misses the processor's cache. Only that table writes `lead` and `forgotten`.
 */
export class KnownToken {
  readonly token: string;
  /** For `TokenMemory`: distinguishes fingerprints in the same slot. */
  readonly rest: number;
  lead: SessionLead | undefined;
  /** `lead.forgotten` at the time of the look-up. While the two are equal, the token still leads there. */
  forgotten = 0;

  constructor(token: string, rest = 0) {
    this.token = token;
    this.rest = rest;
  }
}
