/**
 * The expected counts, computed from the calls that the clients sent and the statuses that they received.
 * Follows the contract, not the sidecar's code.
 */
import type { User } from '../../support/tomcat/calls.ts';
import type { AnsweredCall } from '../../support/tomcat/clients.ts';

/** Every statistic by its name, e.g. `{ rpc: 12, 'rpc.errors': 1, 'rpc.E.Demo.Test': 12 }`. */
export type Counts = Readonly<Record<string, number>>;

const isAccepted = (call: AnsweredCall) => call.status >= 200 && call.status <= 399;
const isFailed = (call: AnsweredCall) => call.status >= 500;

/** The counts of one place: the whole application, or one session. */
class Tally {
  readonly counts: Record<string, number> = {
    rpc: 0,
    'rpc.errors': 0,
    sba: 0,
    'sba.errors': 0,
    'object.monitored': 0,
    'object.subscriptions': 0,
    'object.newValues': 0,
  };

  add(call: AnsweredCall): void {
    if (call.kind === 'rpc' || call.kind === 'sba') this.#addCall(call, `${call.kind}.${call.name}`);
    if (call.kind === 'object') this.#addRead(call, `object.${call.name}`);
  }

  #addCall(call: AnsweredCall, name: string): void {
    const error = isFailed(call) ? 1 : 0;
    this.#raise(call.kind, 1);
    this.#raise(`${call.kind}.errors`, error);
    // A wrong password or an unknown name creates no name, but counts on an existing one.
    if (!(name in this.counts) && !isAccepted(call) && !isFailed(call)) return;
    this.#raise(name, 1);
    this.#raise(`${name}.errors`, error);
  }

  #addRead(call: AnsweredCall, name: string): void {
    // A refused read is no value and creates no name; a failed one shows that the object exists.
    if (!isAccepted(call) && !isFailed(call)) return;
    const values = isAccepted(call) ? 1 : 0;
    this.#raise('object.newValues', values);
    this.#raise(`${name}.newValues`, values);
    this.#raise(`${name}.subscriptions`, 0);
  }

  #raise(name: string, by: number): void {
    this.counts[name] = (this.counts[name] ?? 0) + by;
  }
}

class ExpectedSession {
  readonly tally = new Tally();
  requests = 0;
}

export class ExpectedCounts {
  readonly #all = new Tally();
  readonly #sessions = new Map<User, ExpectedSession>();
  #created = 0;

  /** Must be called in the order of the answers, where that order matters. */
  add(call: AnsweredCall): void {
    if (call.kind === 'none') return;
    this.#all.add(call);
    if (call.hasWrongSecret) return;
    const session = this.#sessionOf(call);
    if (session === undefined) return;
    session.requests += 1;
    session.tally.add(call);
    if (call.kind === 'logout' && isAccepted(call)) this.#sessions.delete(call.user);
  }

  #sessionOf(call: AnsweredCall): ExpectedSession | undefined {
    const known = this.#sessions.get(call.user);
    if (known !== undefined || !isAccepted(call)) return known;
    const session = new ExpectedSession();
    this.#sessions.set(call.user, session);
    this.#created += 1;
    return session;
  }

  /** Users with a session, in the order in which the sessions began. */
  get users(): readonly User[] {
    return [...this.#sessions.keys()];
  }

  requests(user: User): number {
    return this.#sessions.get(user)?.requests ?? 0;
  }

  /** Everything below `metrics/d2`. */
  get global(): Counts {
    return { ...this.#all.counts, 'sessions.created': this.#created, 'sessions.active': this.#sessions.size };
  }

  session(user: User): Counts {
    const session = this.#sessions.get(user);
    return session === undefined ? {} : { ...session.tally.counts, 'sessions.created': 1, 'sessions.active': 1 };
  }
}

/** The statistics whose names begin with one of the prefixes, as whole segments. */
export function below(counts: Counts, ...prefixes: readonly string[]): Counts {
  const belongs = (name: string) => prefixes.some((prefix) => name === prefix || name.startsWith(`${prefix}.`));
  return Object.fromEntries(Object.entries(counts).filter(([name]) => belongs(name)));
}
