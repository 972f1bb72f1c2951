/** The state of the page, and how an answer of the port changes it. Pure: no requests, no document, no clock. */
import type { Answer, Credential } from './api.ts';
import { append, type Period } from './history-points.ts';
import type {
  HistoryPoint,
  ItemDetails,
  Live,
  LiveApplication,
  Mark,
  MetricsDocument,
  RowsOf,
  TableKind,
  VerdictRule,
} from './live-data.ts';
import type { PastState } from './past.ts';
import type { Route } from './route.ts';
import type { TableView } from './table-model.ts';

export type Connection =
  | { readonly kind: 'loading' }
  | { readonly kind: 'live' }
  | { readonly kind: 'lost'; readonly sinceMs: number | undefined; readonly reason: string }
  | { readonly kind: 'signIn'; readonly detail: string; readonly wasTried: boolean }
  | { readonly kind: 'refused'; readonly detail: string };

/** Rows of the last table that was read; `kind` and `application` tell whether it is still the open one. */
export interface TableState {
  readonly kind: TableKind;
  readonly application: string;
  readonly rows: RowsOf[TableKind];
}

/** The open call, object or session. */
export interface ItemState {
  readonly key: string;
  readonly document: MetricsDocument | undefined;
  readonly details: ItemDetails | undefined;
  readonly isGone: boolean;
}

export interface PageState {
  readonly connection: Connection;
  readonly live: Live | undefined;
  /** When `live` arrived, by the page's own clock (performance.now), in milliseconds. */
  readonly liveAtMs: number;
  readonly histories: ReadonlyMap<string, readonly HistoryPoint[]>;
  readonly marks: readonly Mark[];
  /** When the sidecar restarted while this page was open, in epoch milliseconds. */
  readonly restartedAtMs: number | undefined;
  readonly table: TableState | undefined;
  readonly item: ItemState | undefined;
  /** The reader has opened the rules of the verdict; then the poller reads them. */
  readonly areRulesOpen: boolean;
  readonly rules: readonly VerdictRule[];
  /** What the charts show of the history on disk. */
  readonly past: PastState | undefined;
  readonly route: Route;
  readonly credential: Credential['kind'];
}

export class Store {
  readonly #listeners = new Set<() => void>();
  #state: PageState;

  constructor(initial: PageState) {
    this.#state = initial;
  }

  get state(): PageState {
    return this.#state;
  }

  update(change: (state: PageState) => PageState): void {
    this.#state = change(this.#state);
    for (const listener of this.#listeners) listener();
  }

  /** Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** What the parts of the page show, besides the header. */
export interface Shown {
  readonly state: PageState;
  readonly live: Live;
  readonly application: LiveApplication;
  readonly points: readonly HistoryPoint[];
  /** The last minute. */
  readonly minute: Period;
  readonly nowMs: number;
  readonly onView: (change: Partial<TableView>) => void;
}

/** Seconds of the charts. */
export const DEFAULT_RANGE_S = 300;

export function createInitialState(route: Route): PageState {
  return {
    connection: { kind: 'loading' },
    live: undefined,
    liveAtMs: 0,
    histories: new Map(),
    marks: [],
    restartedAtMs: undefined,
    table: undefined,
    item: undefined,
    areRulesOpen: false,
    rules: [],
    past: undefined,
    route,
    credential: 'none',
  };
}

/** The sidecar's current time in epoch milliseconds: the reader's clock may be wrong. */
export function readNowMs({ live, liveAtMs }: PageState, pageMs: number): number {
  return live === undefined ? 0 : Date.parse(live.now) + (pageMs - liveAtMs);
}

/** Whether `live` comes from another process, so that its whole history must be requested. */
export function isOtherProcess(state: PageState, live: Live): boolean {
  return state.live !== undefined && state.live.startTime !== live.startTime;
}

export function withLive(state: PageState, live: Live, pageMs: number): PageState {
  const restarted = isOtherProcess(state, live);
  const histories = new Map<string, readonly HistoryPoint[]>();
  for (const { name, history } of live.applications) {
    histories.set(name, append(restarted ? [] : (state.histories.get(name) ?? []), history.points));
  }
  return {
    ...state,
    connection: { kind: 'live' },
    live,
    liveAtMs: pageMs,
    histories,
    marks: isSame(state.marks, live.marks) ? state.marks : live.marks,
    restartedAtMs: restarted ? Date.parse(live.startTime) : state.restartedAtMs,
  };
}

/** Whether the reader must sign in. */
export function requiresSignIn(status: number): boolean {
  return status === 401 || status === 403;
}

/** Marks are only appended, so comparing the last one suffices. An unchanged list is not drawn again. */
function isSame(known: readonly Mark[], marks: readonly Mark[]): boolean {
  const [last, other] = [known.at(-1), marks.at(-1)];
  return known.length === marks.length && last?.t === other?.t && last?.kind === other?.kind;
}

/** The state after a request for `live` failed. */
export function withoutLive(
  state: PageState,
  answer: Exclude<Answer<Live>, { kind: 'ok' }>,
  pageMs: number,
): PageState {
  if (answer.kind === 'lost') {
    const { connection } = state;
    const since = state.live === undefined ? undefined : readNowMs(state, pageMs);
    const sinceMs = connection.kind === 'lost' ? connection.sinceMs : since;
    return { ...state, connection: { kind: 'lost', sinceMs, reason: answer.reason } };
  }
  // If only certificates are configured, there is no challenge for a 401, and the port answers 403. Every reader may
  // see `live`, so a 403 means the same.
  if (requiresSignIn(answer.status)) {
    const wasTried = state.connection.kind === 'signIn';
    // Discards the old numbers: the next reader may be someone else.
    const { route, credential } = state;
    return {
      ...createInitialState(route),
      credential,
      connection: { kind: 'signIn', detail: answer.detail, wasTried },
    };
  }
  const wait = answer.retryAfterS > 0 ? ` Trying again in ${answer.retryAfterS} s.` : '';
  const detail = `${answer.detail || `The monitoring port answers with ${answer.status}.`}${wait}`;
  return { ...state, connection: { kind: 'refused', detail } };
}
