/** The statistics of the sidecar's monitoring port, in the shape in which the peers count. */
import type { SessionEntry } from '../../../src/measure/sessions/session.ts';
import { type CallCount, type Counts, sorted } from '../../support/comet/tally.ts';

const ADMIN = '/smartWeb/api/rest/v0/admin';

type Numbers<Name extends string> = Readonly<Record<string, Readonly<Record<Name, number>>>>;
type Metrics = Readonly<Record<'counters' | 'meters' | 'timers', Numbers<'count'>> & { gauges: Numbers<'value'> }>;

export class StatisticsReader {
  readonly #base: string;

  /** `monitor`: the monitoring server's address, e.g. `127.0.0.1:9280`. */
  constructor(monitor: string) {
    this.#base = `http://${monitor}${ADMIN}`;
  }

  sessions(): Promise<SessionEntry[]> {
    return this.#read('d2/sessions');
  }

  /** Endpoints 4, 5 and 8, of all or of one session. */
  async statistics(session?: string): Promise<Counts> {
    const query = session === undefined ? '' : `?session=${session}`;
    const of = (kind: string) => this.#read<Metrics>(`metrics/d2/${kind}${query}`);
    const [rpc, sba, object] = await Promise.all([of('rpc'), of('sba'), of('object')]);
    return {
      subscriptions: namedCounts(object.counters, 'object.', '.subscriptions'),
      values: namedCounts(object.meters, 'object.', '.newValues'),
      calls: sorted([...callsOf('rpc', rpc), ...callsOf('sba', sba)]),
    };
  }

  /** Endpoint 9: `[subscriptions, newValues]`. */
  async object(name: string): Promise<[number | undefined, number | undefined]> {
    const { counters, meters } = await this.#read<Metrics>(`metrics/d2/object/${encodeURIComponent(name)}`);
    return [counters[`object.${name}.subscriptions`]?.count, meters[`object.${name}.newValues`]?.count];
  }

  /** Endpoint 3: `[created, active]`. */
  async created(): Promise<[number | undefined, number | undefined]> {
    const { gauges, timers } = await this.#read<Metrics>('metrics/d2/sessions');
    return [timers['sessions.created']?.count, gauges['sessions.active']?.value];
  }

  /** Every session as the peers know it, ordered by content, since only the sidecar knows the session ids. */
  async logins(): Promise<object[]> {
    const logins = (await this.sessions()).map(async ({ id, userName, connectionType }) => ({
      ...{ userName, connectionType, ...(await this.statistics(id)) },
    }));
    return inOrder(await Promise.all(logins));
  }

  async #read<T>(path: string): Promise<T> {
    const response = await fetch(`${this.#base}/${path}`, { headers: { 'Content-Type': 'application/json' } });
    const body = await response.text();
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${body}`);
    return JSON.parse(body) as T;
  }
}

/** Logins in the form and order of `StatisticsReader.logins`. */
export function toLogins(logins: readonly (Counts & { userName: string | null })[], connectionType: string): object[] {
  return inOrder(logins.map(({ userName, ...counts }) => ({ userName, connectionType, ...counts })));
}

function inOrder(logins: readonly object[]): object[] {
  const keyed = logins.map((login) => [JSON.stringify(login), login] as const);
  return keyed.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, login]) => login);
}

/** Counts without zeros: `object.<name>.newValues` becomes `<name>`. */
function namedCounts(metrics: Numbers<'count'>, prefix: string, postfix: string) {
  const named = Object.entries(metrics).filter(
    ([name, { count }]) => name.length > prefix.length + postfix.length && name.endsWith(postfix) && count !== 0,
  );
  return sorted(named.map(([name, { count }]) => [name.slice(prefix.length, -postfix.length), count]));
}

function callsOf(kind: string, { timers, meters }: Metrics): [string, CallCount][] {
  return Object.entries(timers)
    .filter(([name, { count }]) => name.startsWith(`${kind}.`) && count > 0)
    .map(([name, { count }]) => [name, { answered: count, failed: meters[`${name}.errors`]?.count ?? Number.NaN }]);
}
