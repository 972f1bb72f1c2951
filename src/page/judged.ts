/** The result of a rule of the verdict. */

export type Subject = 'server' | 'network' | 'client' | 'sidecar' | 'nobody' | 'unknown';

export interface Rule {
  readonly name: string;
  /** The condition, and the current figure. */
  readonly text: string;
  readonly applies: boolean;
}

export interface Judged extends Rule {
  readonly subject: Subject;
  readonly verdict: string;
  /** Shows the worst call with the rule, which is about failed calls. */
  readonly showsWorstCall?: boolean;
}
