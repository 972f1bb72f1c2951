/**
 * Polls every two seconds for new numbers and the rows of the open table, except while the page is hidden. Rounds never
 * overlap: the next is scheduled when the last has ended, so a slow connection queues no requests.
 */
import type { Api } from './api.ts';
import {
  type Columns,
  type ItemDetails,
  type Live,
  type MetricsDocument,
  parseCalls,
  parseRows,
  type SingleCall,
  type TableKind,
  type VerdictRule,
} from './live-data.ts';
import {
  isOtherProcess,
  type PageState,
  requiresSignIn,
  type Store,
  type TableState,
  withLive,
  withoutLive,
} from './page-state.ts';
import { formatSegment, PERSONAL_TABLES } from './route.ts';

const PERIOD_MS = 2_000;

export class Poller {
  readonly #api: Api;
  readonly #store: Store;
  #timer: number | undefined;
  #isAsking = false;
  /** The running round is outdated: another one was requested meanwhile. */
  #isStale = false;

  constructor(api: Api, store: Store) {
    this.#api = api;
    this.#store = store;
  }

  start(): void {
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) this.wake();
    });
    this.now();
  }

  /** Same as `now`, except while waiting for a credential: resending a wrong one would count as another failure. */
  wake(): void {
    if (this.#store.state.connection.kind !== 'signIn') this.now();
  }

  /** Runs a round at once, or right after the running one. */
  now(): void {
    clearTimeout(this.#timer);
    if (this.#isAsking) {
      this.#isStale = true;
      return;
    }
    this.#isAsking = true;
    void this.#round().then((waitMs) => {
      this.#isAsking = false;
      const isStale = this.#isStale;
      this.#isStale = false;
      if (isStale) this.now();
      else if (waitMs !== undefined && !document.hidden) this.#timer = window.setTimeout(() => this.now(), waitMs);
    });
  }

  /** Returns the wait for the next round; undefined: none until `now` is called. Never rejects. */
  async #round(): Promise<number | undefined> {
    const known = this.#store.state.live;
    let answer = await this.#api.get<Live>(known === undefined ? 'live' : `live?since=${known.seq}`);
    if (answer.kind === 'ok' && isOtherProcess(this.#store.state, answer.value)) {
      answer = await this.#api.get<Live>('live');
    }
    if (answer.kind !== 'ok') {
      const refusal = answer;
      this.#store.update((state) => withoutLive(state, refusal, performance.now()));
      // Repeating a wrong password only gets the address refused.
      if (answer.kind === 'refused' && requiresSignIn(answer.status)) return undefined;
      const retryAfterMs = answer.kind === 'refused' ? answer.retryAfterS * 1_000 : 0;
      return Math.max(PERIOD_MS, retryAfterMs);
    }
    const live = answer.value;
    const open = await this.#readOpen(live);
    this.#store.update((state) => ({ ...withLive(state, live, performance.now()), ...open }));
    return PERIOD_MS;
  }

  /** Reads the open table and the open item; what cannot be read keeps its last state. */
  async #readOpen(live: Live): Promise<Partial<PageState>> {
    const { route } = this.#store.state;
    const application = route.application ?? live.applications[0]?.name;
    if (application === undefined) return {};
    const judgement = await this.#judgement(application);
    const isHidden = PERSONAL_TABLES.has(route.table) && live.role !== 'sessions';
    if (isHidden) return { table: undefined, item: undefined, ...judgement };
    const [table, item] = await Promise.all([
      this.#table(live, application, route.table),
      this.#item(application, route.table, route.item),
    ]);
    // The user may have moved on meanwhile.
    return this.#store.state.route === route ? { ...table, ...item, ...judgement } : {};
  }

  /** The rules of the verdict, while the reader has them open. */
  async #judgement(application: string): Promise<Partial<PageState>> {
    if (!this.#store.state.areRulesOpen) return {};
    const answer = await this.#api.get<{ rules: readonly VerdictRule[] }>(`${formatAdminPath(application)}/d2/verdict`);
    return answer.kind === 'ok' ? { rules: answer.value.rules } : {};
  }

  async #table(live: Live, application: string, kind: TableKind): Promise<Partial<PageState>> {
    if (kind === 'running' || kind === 'slowest') {
      const path = `${formatAdminPath(application)}/d2/calls${kind === 'slowest' ? '/slowest' : ''}`;
      const calls = await this.#api.get<readonly SingleCall[]>(path);
      if (calls.kind !== 'ok') return {};
      return { table: { kind, application, rows: parseCalls(calls.value, live.clientTimeoutSeconds) } };
    }
    const answer = await this.#api.get<Columns>(formatLivePath(application, kind));
    if (answer.kind !== 'ok') return {};
    return { table: { kind, application, rows: parseRows(answer.value) as TableState['rows'] } };
  }

  async #item(application: string, kind: TableKind, item: string | undefined): Promise<Partial<PageState>> {
    if (item === undefined) return { item: undefined };
    const key = `${kind}/${item}`;
    const [metrics, details] = await Promise.all([
      this.#api.get<MetricsDocument>(formatItemPath(application, kind, item)),
      this.#api.get<ItemDetails>(`${formatLivePath(application, kind)}/${encodeURIComponent(item)}`),
    ]);
    const known = this.#store.state.item?.key === key ? this.#store.state.item : undefined;
    const next = { key, details: details.kind === 'ok' ? details.value : known?.details };
    if (metrics.kind === 'ok') return { item: { ...next, document: metrics.value, isGone: false } };
    if (metrics.kind === 'lost') return {};
    return { item: { ...next, document: known?.document, isGone: metrics.status === 404 } };
  }
}

function formatLivePath(application: string, kind: TableKind): string {
  return `live/${encodeURIComponent(formatSegment(application))}/${kind}`;
}

export function formatAdminPath(application: string): string {
  const prefix = application === '' ? '' : `${application.split('/').map(encodeURIComponent).join('/')}/`;
  return `${prefix}api/rest/v0/admin`;
}

/** Endpoints 2, 6, 7 and 9 of the monitoring interface. */
export function formatItemPath(application: string, kind: TableKind, item: string): string {
  const base = `${formatAdminPath(application)}/metrics/d2`;
  if (kind === 'sessions') return `${base}?session=${encodeURIComponent(item)}`;
  return `${base}/${kind === 'objects' ? 'object' : kind}/${encodeURIComponent(item)}`;
}
