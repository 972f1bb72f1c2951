/** Requests what the charts show of the history on disk, when the reader has chosen it, and again each minute. */
import type { Answer, Api } from './api.ts';
import { type Columns, type Mark, parseRows } from './live-data.ts';
import { type PageState, readNowMs, type Store } from './page-state.ts';
import {
  joinSteps,
  type NameRow,
  type PastQuery,
  type PastState,
  type SlowerNames,
  type Steps,
  selectQuery,
} from './past.ts';
import { formatAdminPath } from './poller.ts';

interface MarkOnDisk {
  readonly time: string;
  readonly until: string | null;
  readonly kind: string;
  readonly text: string;
}

export function startPastLoader(api: Api, store: Store): void {
  let key: string | undefined;
  /** After a failure. */
  let retryAtMs = Number.POSITIVE_INFINITY;
  const load = async (query: PastQuery): Promise<void> => {
    const { kept, areSameTimes } = selectKept(store.state.past, query);
    store.update((state) => ({ ...state, past: { ...kept, query, isReading: true, isOther: !areSameTimes } }));
    let next: Omit<PastState, 'query' | 'isReading' | 'isOther'>;
    try {
      next = { ...(await readPast(api, store, query)), failure: undefined };
    } catch (error) {
      const failure = error instanceof Error ? error.message : String(error);
      next = { ...(areSameTimes ? kept : EMPTY), failure };
    }
    // The reader may have chosen something else meanwhile.
    if (key !== query.key) return;
    if (next.failure !== undefined) retryAtMs = performance.now() + RETRY_MS;
    store.update((state) => ({ ...state, past: { ...next, query, isReading: false, isOther: false } }));
  };
  store.subscribe(() => {
    const { state } = store;
    // The last numbers stay until the port answers again.
    if (state.connection.kind === 'lost' || state.connection.kind === 'refused') return;
    const query = selectWanted(state);
    if (query?.key === key && !(performance.now() >= retryAtMs)) return;
    key = query?.key;
    retryAtMs = Number.POSITIVE_INFINITY;
    if (query !== undefined) void load(query);
    else if (state.past !== undefined) store.update((known) => ({ ...known, past: undefined }));
  });
}

function selectWanted(state: PageState): PastQuery | undefined {
  const application = state.route.application ?? state.live?.applications[0]?.name;
  if (application === undefined || state.live?.archive === null || state.connection.kind !== 'live') return undefined;
  return selectQuery(state.route, application, readNowMs(state, performance.now()) / 1000);
}

async function readPast(api: Api, store: Store, query: PastQuery) {
  const { fromS, toS, shiftS, sinceS, isSingle, application } = query;
  /** Throws what the port says against it. */
  const get = async <T>(path: string): Promise<T> => {
    const answer: Answer<T> = await api.get<T>(`${formatAdminPath(application)}/${path}`);
    if (answer.kind === 'ok') return answer.value;
    throw new Error(answer.kind === 'lost' ? answer.reason : answer.detail || `The port answers ${answer.status}.`);
  };
  const readSteps = async (shiftS: number, step: number) => {
    const path = `history?from=${formatIso(fromS - shiftS)}&to=${formatIso(toS - shiftS)}&step=${step}&name=`;
    const calls = await get<Steps>(`${path}${encodeURIComponent(query.name)}`);
    return { calls, sessions: isSingle ? undefined : await get<Steps>(`${path}sessions.active`) };
  };
  // Older steps may be longer, and both times need the same.
  const before = shiftS === undefined ? undefined : await readSteps(shiftS, 60);
  const now = await readSteps(0, before?.calls.step ?? 60);
  const range = `from=${formatIso(fromS)}&to=${formatIso(toS)}`;
  const than = shiftS === undefined ? '' : `&than=${formatIso(fromS - shiftS)}`;
  const marks = await get<readonly MarkOnDisk[]>(`history/marks?${range}`);
  const names = isSingle ? undefined : await get<Columns>(`history/names?${range}${than}`);
  const since = sinceS && (await get<Columns & SlowerNames>(`history/slower?since=${formatIso(sinceS)}`));
  return {
    points: joinSteps(query, now, before, readNowMs(store.state, performance.now()) / 1000),
    marks: marks.map(parseMark),
    names: names === undefined ? [] : (parseRows(names) as readonly NameRow[]),
    slower: since ? { ...since, rows: parseRows(since) as readonly NameRow[] } : undefined,
  };
}

const RETRY_MS = 10_000;
const EMPTY = { failure: undefined, points: [], marks: [], names: [], slower: undefined };

/** `kept`: what stays in sight until the answer is there. `areSameTimes`: it may stay without one. */
function selectKept(known: PastState | undefined, query: PastQuery) {
  if (known === undefined || known.query.name !== query.name || known.query.application !== query.application)
    return { kept: EMPTY, areSameTimes: false };
  const lengthOf = ({ fromS, toS }: PastQuery) => toS - fromS;
  const areSameTimes = lengthOf(known.query) === lengthOf(query) && known.query.shiftS === query.shiftS;
  const slower = known.query.sinceS === query.sinceS ? known.slower : undefined;
  return { kept: { ...known, slower }, areSameTimes };
}

function parseMark({ time, until, kind, text }: MarkOnDisk): Mark {
  const end = until === null ? undefined : Date.parse(until) / 1000;
  return { t: Date.parse(time) / 1000, kind, text, ...(end === undefined ? {} : { end }) };
}

function formatIso(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
