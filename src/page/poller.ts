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
import { formatSegment, PERSONAL_TABLES, type Route } from './route.ts';

const PERIOD_MS = 2_000;

export function createPoller(api: Api, store: Store) {
  let timer: number | undefined;
  let isAsking = false;
  /** The running round is outdated: another one was requested meanwhile. */
  let isStale = false;
  /** Runs a round at once, or right after the running one. */
  const now = (): void => {
    clearTimeout(timer);
    if (isAsking) {
      isStale = true;
      return;
    }
    isAsking = true;
    void runRound(api, store).then((waitMs) => {
      isAsking = false;
      const wasStale = isStale;
      isStale = false;
      if (wasStale) now();
      else if (waitMs !== undefined && !document.hidden) timer = window.setTimeout(now, waitMs);
    });
  };
  /** Same as `now`, except while waiting for a credential: resending a wrong one would count as another failure. */
  const wake = (): void => {
    if (store.state.connection.kind !== 'signIn') now();
  };
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) wake();
  });
  return { now, wake };
}

/** Returns the wait for the next round; undefined: none until `now` is called. Never rejects. */
async function runRound(api: Api, store: Store): Promise<number | undefined> {
  const known = store.state.live;
  let answer = await api.get<Live>(known === undefined ? 'live' : `live?since=${known.seq}`);
  if (answer.kind === 'ok' && isOtherProcess(store.state, answer.value)) answer = await api.get<Live>('live');
  if (answer.kind !== 'ok') {
    const refusal = answer;
    store.update((state) => withoutLive(state, refusal, performance.now()));
    // Repeating a wrong password only gets the address refused.
    if (answer.kind === 'refused' && requiresSignIn(answer.status)) return undefined;
    const retryAfterMs = answer.kind === 'refused' ? answer.retryAfterS * 1_000 : 0;
    return Math.max(PERIOD_MS, retryAfterMs);
  }
  const live = answer.value;
  const open = await readOpen(api, store, live);
  store.update((state) => ({ ...withLive(state, live, performance.now()), ...open }));
  return PERIOD_MS;
}

/** Reads the open table and the open item; what cannot be read keeps its last state. */
async function readOpen(api: Api, store: Store, live: Live): Promise<Partial<PageState>> {
  const { route } = store.state;
  const application = route.application ?? live.applications[0]?.name;
  if (application === undefined) return {};
  const judgement = store.state.areRulesOpen ? await readRules(api, application) : {};
  const isHidden = PERSONAL_TABLES.has(route.table) && live.role !== 'sessions';
  if (isHidden) return { table: undefined, item: undefined, ...judgement };
  const [table, item] = await Promise.all([
    readTable(api, live, application, route.table),
    readItem(api, store, application, route),
  ]);
  // The user may have moved on meanwhile.
  return store.state.route === route ? { ...table, ...item, ...judgement } : {};
}

/** The rules of the verdict, while the reader has them open. */
async function readRules(api: Api, application: string): Promise<Partial<PageState>> {
  const answer = await api.get<{ rules: readonly VerdictRule[] }>(`${formatAdminPath(application)}/d2/verdict`);
  return answer.kind === 'ok' ? { rules: answer.value.rules } : {};
}

async function readTable(api: Api, live: Live, application: string, kind: TableKind): Promise<Partial<PageState>> {
  if (kind === 'running' || kind === 'slowest') {
    const path = `${formatAdminPath(application)}/d2/calls${kind === 'slowest' ? '/slowest' : ''}`;
    const calls = await api.get<readonly SingleCall[]>(path);
    if (calls.kind !== 'ok') return {};
    return { table: { kind, application, rows: parseCalls(calls.value, live.clientTimeoutSeconds) } };
  }
  const answer = await api.get<Columns>(formatLivePath(application, kind));
  if (answer.kind !== 'ok') return {};
  return { table: { kind, application, rows: parseRows(answer.value) as TableState['rows'] } };
}

async function readItem(
  api: Api,
  store: Store,
  application: string,
  { table, item }: Route,
): Promise<Partial<PageState>> {
  if (item === undefined) return { item: undefined };
  const key = `${table}/${item}`;
  const [metrics, details] = await Promise.all([
    api.get<MetricsDocument>(formatItemPath(application, table, item)),
    api.get<ItemDetails>(`${formatLivePath(application, table)}/${encodeURIComponent(item)}`),
  ]);
  const known = store.state.item?.key === key ? store.state.item : undefined;
  const next = { key, details: details.kind === 'ok' ? details.value : known?.details };
  if (metrics.kind === 'ok') return { item: { ...next, document: metrics.value, isGone: false } };
  if (metrics.kind === 'lost') return {};
  return { item: { ...next, document: known?.document, isGone: metrics.status === 404 } };
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
