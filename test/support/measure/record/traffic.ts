import type { MemoryBudget } from '../../../../src/limits/memory-budget.ts';
import type { CometListener } from '../../../../src/measure/comet/comet-application.ts';
import type { RecorderConfig } from '../../../../src/measure/record/recorded-application.ts';
import { Recorder } from '../../../../src/measure/record/recorder.ts';
import type { SessionEntry } from '../../../../src/measure/sessions/session.ts';
import {
  CANCELLED,
  type ClientConnection,
  COMPLETED,
  type Ending,
  type Exchange,
} from '../../../../src/proxy/exchange/exchange.ts';
import { ExchangeReporter } from '../../../../src/proxy/exchange/exchange-reporter.ts';
import { UpstreamFailure } from '../../../../src/proxy/exchange/upstream-failure.ts';
import { ManualClock } from '../../clock.ts';
import { testComet, testSessions } from '../../wire/test-config.ts';

export const BASE = '/smartWeb/api/rest/v0';
export const LOGIN = `GET ${BASE}/d2/auth/login`;
export const LOGOUT = `GET ${BASE}/d2/auth/logout`;
export const RPC = `POST ${BASE}/d2/rpc/E.Demo/TestInOut`;

export const FAILED: Ending = { kind: 'failed', failure: new UpstreamFailure('D2S_ERR_UPSTREAM_TERMINATED') };

export const METRICS: RecorderConfig['metrics'] = {
  ...{ windowMs: 300_000, durationUnit: 'seconds', maxNamesPerSession: 200 },
  maxNames: { rpc: 2_000, sba: 2_000, object: 10_000 },
  prometheus: { objects: 'all' },
};

const CONFIG: RecorderConfig = {
  applications: ['smartWeb'],
  rest: { prefix: 'api/rest/v0', rules: [], defaultRules: true },
  calls: { slowest: 100, clientTimeoutMs: 10_000, targets: [] },
  metrics: METRICS,
  sessions: { ...testSessions, idleMs: 30 * 60_000, apiKeys: [{ user: 'historian', key: 'key-1' }] },
  comet: testComet,
};

export interface Sent {
  /** `POST /path`. */
  readonly line: string;
  readonly user?: string;
  readonly password?: string;
  readonly apiKey?: string;
  /** Several values are several lines. */
  readonly fields?: Readonly<Record<string, string | readonly string[]>>;
  readonly from?: string;
  readonly holder?: Pick<ClientConnection, 'certificateUser' | 'certificateSubject'>;
}

export interface Answered {
  /** Default 200 for completed, else 0. */
  readonly status?: number;
  readonly ending?: Ending;
  readonly afterMs?: number;
}

/** A recorder that gets exchanges as the data plane reports them, on a clock that stands still in between. */
export class Traffic {
  readonly clock: ManualClock;
  readonly recorder: Recorder;
  /** The part that outlives a restart. */
  readonly state: Recorder['state'];
  readonly memory: MemoryBudget;
  readonly reporter: ExchangeReporter;
  /** Reloads a configuration, given by its differences from the first one. */
  readonly reload: (change: Partial<RecorderConfig>) => void;
  readonly #errors: unknown[] = [];

  constructor(change: Partial<RecorderConfig> = {}, listener?: CometListener, clock = new ManualClock()) {
    this.clock = clock;
    this.recorder = new Recorder({ ...CONFIG, ...change }, clock, { listener });
    this.reload = (next) => this.recorder.prepareReload({ ...CONFIG, ...change, ...next })();
    this.state = this.recorder.state;
    this.memory = this.recorder.memory;
    const log = (error: unknown): void => void this.#errors.push(error);
    this.reporter = new ExchangeReporter(this.clock, this.recorder, { debug: log, info: log, warn: log, error: log });
  }

  begin({ line, user, password = 'pass', apiKey, fields = {}, ...connection }: Sent): Exchange {
    const { from = '10.0.0.7', holder } = connection;
    const [method = '', target = ''] = line.split(' ');
    const all: Record<string, string | readonly string[]> = { ...fields };
    if (user !== undefined) all.authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    if (apiKey !== undefined) all['x-api-key'] = apiKey;
    const head = {
      ...{ method, target },
      field: (name: string) => linesOf(all[name])[0],
      fields: (name: string) => linesOf(all[name]),
    };
    return this.reporter.begin(head, { remoteAddress: from, remotePort: 50_412, secure: false, ...holder });
  }

  end(exchange: Exchange, { ending = COMPLETED, status, afterMs = 0 }: Answered = {}): void {
    this.clock.advanceMs(afterMs);
    exchange.status = status ?? (ending === COMPLETED ? 200 : 0);
    this.reporter.end(exchange, ending);
    if (this.reporter.observerErrors > 0) throw new Error(`the recorder failed: ${JSON.stringify(this.#errors)}`);
  }

  send(sent: Sent, answered: Answered = {}): void {
    this.end(this.begin(sent), answered);
  }

  application(name = 'smartWeb') {
    const application = this.recorder.applications.get(name);
    if (application === undefined) throw new Error(`no application ${name}`);
    return application;
  }

  sessions(name = 'smartWeb'): SessionEntry[] {
    return [...this.application(name).sessions.entries()];
  }

  /** The user of each session and its requests, e.g. `anna 2`, or `anna 1, unverified`. */
  users(): string[] {
    return this.sessions().map(
      ({ userName, requests, verified }) => `${userName} ${requests}${verified === undefined ? '' : ', unverified'}`,
    );
  }

  get created(): number | undefined {
    return this.application().sessions.metrics().timers.get('sessions.created')?.count;
  }

  onlySession(): SessionEntry & { readonly counts: Record<string, number> } {
    const [entry, ...more] = this.sessions();
    if (entry === undefined || more.length > 0) throw new Error(`${more.length + (entry ? 1 : 0)} sessions`);
    return { ...entry, counts: this.counts(entry.id) };
  }

  /** All counts that are not 0, of the application or of one session: `{ rpc: 2, 'rpc.E.Demo.TestInOut': 2 }`. */
  counts(session?: string): Record<string, number> {
    const { statistics, sessions } = this.application();
    const of = session === undefined ? statistics : sessions.find(session)?.statistics;
    if (of === undefined) throw new Error(`no session ${session}`);
    const counts: Record<string, number> = {};
    for (const set of [of.rpc.metrics(), of.sba.metrics(), of.object.metrics()]) {
      for (const [name, { count }] of [...set.timers, ...set.meters]) if (count > 0) counts[name] = count;
    }
    return counts;
  }
}

function linesOf(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}

export { CANCELLED, COMPLETED };
