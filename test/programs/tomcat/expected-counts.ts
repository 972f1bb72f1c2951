/** The expected counts, computed from the calls that the clients sent and the statuses that they received. */
import type { AnsweredCall, User } from '../../support/tomcat/calls.ts';

/** Every statistic by its name, e.g. `{ rpc: 12, 'rpc.errors': 1, 'rpc.E.Demo.Test': 12 }`. */
export type Counts = Readonly<Record<string, number>>;

/** An answer of the endpoints 2 to 13. */
export interface MetricsAnswer {
  readonly gauges: Record<string, { value: number }>;
  readonly counters: Record<string, { count: number }>;
  readonly meters: Record<string, { count: number }>;
  readonly timers: Record<string, { count: number; p50: number; min: number; max: number }>;
}

const isAccepted = ({ status }: AnsweredCall) => status >= 200 && status <= 399;
const isFailed = ({ status }: AnsweredCall) => status >= 500;
const ALWAYS = 'rpc rpc.errors sba sba.errors object.monitored object.subscriptions object.newValues'.split(' ');

/** The counts of one place: the whole application, or one session. */
class Tally {
  readonly counts: Record<string, number> = Object.fromEntries(ALWAYS.map((name) => [name, 0]));
  requests = 0;

  add(call: AnsweredCall): void {
    const name = `${call.kind}.${call.name}`;
    // A refused call creates no name and is no value; a failed one shows that the name exists.
    const isRefused = !isAccepted(call) && !isFailed(call);
    const error = isFailed(call) ? 1 : 0;
    if (call.kind === 'object' && !isRefused) {
      this.#raise({ 'object.newValues': 1 - error, [`${name}.newValues`]: 1 - error, [`${name}.subscriptions`]: 0 });
    }
    if (call.kind !== 'rpc' && call.kind !== 'sba') return;
    this.#raise({ [call.kind]: 1, [`${call.kind}.errors`]: error });
    // A wrong password counts on an existing name.
    if (name in this.counts || !isRefused) this.#raise({ [name]: 1, [`${name}.errors`]: error });
  }

  #raise(by: Counts): void {
    for (const [name, more] of Object.entries(by)) this.counts[name] = (this.counts[name] ?? 0) + more;
  }
}

export class ExpectedCounts {
  readonly #all = new Tally();
  readonly #sessions = new Map<User, Tally>();
  #created = 0;

  /** Must be called in the order of the answers, where that order matters. */
  add(call: AnsweredCall): void {
    if (call.kind === 'none') return;
    this.#all.add(call);
    if (call.hasWrongSecret) return;
    if (!this.#sessions.has(call.user) && isAccepted(call)) {
      this.#sessions.set(call.user, new Tally());
      this.#created += 1;
    }
    const session = this.#sessions.get(call.user);
    if (session === undefined) return;
    session.requests += 1;
    session.add(call);
    if (call.kind === 'logout' && isAccepted(call)) this.#sessions.delete(call.user);
  }

  requests(user: User): number {
    return this.#sessions.get(user)?.requests ?? 0;
  }

  get global(): Counts {
    return { ...this.#all.counts, 'sessions.created': this.#created, 'sessions.active': this.#sessions.size };
  }

  session(user: User): Counts {
    return { ...this.#sessions.get(user)?.counts, 'sessions.created': 1, 'sessions.active': 1 };
  }
}

/** The statistics whose names begin with one of the prefixes, as whole segments. */
export function below(counts: Counts, ...prefixes: readonly string[]): Counts {
  const belongs = (name: string) => prefixes.some((prefix) => name === prefix || name.startsWith(`${prefix}.`));
  return Object.fromEntries(Object.entries(counts).filter(([name]) => belongs(name)));
}

export function toCounts({ gauges, counters, meters, timers }: MetricsAnswer): Counts {
  const counted = Object.entries({ ...counters, ...meters, ...timers }).map(([name, { count }]) => [name, count]);
  return Object.fromEntries([...counted, ...Object.entries(gauges).map(([name, { value }]) => [name, value])]);
}
