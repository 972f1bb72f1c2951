import type { Session } from './session.ts';

/** The way from the tokens of a session to itself, as long as it lasts. Only its table writes it. */
export interface SessionLead {
  /** The table that wrote it; no other follows it. */
  readonly table: object;
  /** Undefined once it has ended. */
  session: Session | undefined;
  /** Tokens that it is not recognised by any more. */
  forgotten: number;
}

/**
 * A token that was seen, and where it led: whoever keeps this for the next time saves `SessionTable` the look-up, of which with
 * 10,000 sessions nothing is in the processor's cache. Only that table writes it.
 */
export class KnownToken {
  readonly token: string;
  /** For `TokenMemory`: what tells it from others in the same slot. */
  readonly rest: number;
  lead: SessionLead | undefined;
  /** `lead.forgotten` when the token led there: it still does while they are as many. */
  forgotten = 0;

  constructor(token: string, rest = 0) {
    this.token = token;
    this.rest = rest;
  }
}
