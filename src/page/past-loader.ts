/** Requests what the charts show of the history on disk, when the reader has chosen it, and again each minute. */
import type { Answer, Api } from './api.ts';
import { type Columns, type Mark, parseRows } from './live-data.ts';
import { readNowMs, type Store } from './page-state.ts';
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

export class PastLoader {
  readonly #api: Api;
  readonly #store: Store;
  #key: string | undefined;
  /** After a failure. */
  #retryAtMs = Number.POSITIVE_INFINITY;

  constructor(api: Api, store: Store) {
    this.#api = api;
    this.#store = store;
  }

  start(): void {
    this.#store.subscribe(() => this.#follow());
  }

  #follow(): void {
    const { state } = this.#store;
    // The last numbers stay until the port answers again.
    if (state.connection.kind === 'lost' || state.connection.kind === 'refused') return;
    const query = this.#wanted();
    if (query?.key === this.#key && !(performance.now() >= this.#retryAtMs)) return;
    this.#key = query?.key;
    this.#retryAtMs = Number.POSITIVE_INFINITY;
    if (query !== undefined) void this.#load(query);
    else if (state.past !== undefined) this.#store.update((known) => ({ ...known, past: undefined }));
  }

  #wanted(): PastQuery | undefined {
    const { state } = this.#store;
    const application = state.route.application ?? state.live?.applications[0]?.name;
    if (application === undefined || state.live?.archive === null || state.connection.kind !== 'live') return undefined;
    return selectQuery(state.route, application, readNowMs(state, performance.now()) / 1000);
  }

  async #load(query: PastQuery): Promise<void> {
    const { kept, areSameTimes } = selectKept(this.#store.state.past, query);
    this.#store.update((state) => ({ ...state, past: { ...kept, query, isReading: true, isOther: !areSameTimes } }));
    let next: Omit<PastState, 'query' | 'isReading' | 'isOther'>;
    try {
      next = { ...(await this.#read(query)), failure: undefined };
    } catch (error) {
      const failure = error instanceof Error ? error.message : String(error);
      next = { ...(areSameTimes ? kept : EMPTY), failure };
    }
    // The reader may have chosen something else meanwhile.
    if (this.#key !== query.key) return;
    if (next.failure !== undefined) this.#retryAtMs = performance.now() + RETRY_MS;
    this.#store.update((state) => ({ ...state, past: { ...next, query, isReading: false, isOther: false } }));
  }

  async #read(query: PastQuery): Promise<Pick<PastState, 'points' | 'marks' | 'names' | 'slower'>> {
    const { fromS, toS, shiftS, sinceS, isSingle } = query;
    // Older steps may be longer, and both times need the same.
    const before = shiftS === undefined ? undefined : await this.#steps(query, shiftS, 60);
    const now = await this.#steps(query, 0, before?.calls.step ?? 60);
    const range = `from=${formatIso(fromS)}&to=${formatIso(toS)}`;
    const than = shiftS === undefined ? '' : `&than=${formatIso(fromS - shiftS)}`;
    const marks = await this.#get<readonly MarkOnDisk[]>(query, `history/marks?${range}`);
    const names = isSingle ? undefined : await this.#get<Columns>(query, `history/names?${range}${than}`);
    const since =
      sinceS && (await this.#get<Columns & SlowerNames>(query, `history/slower?since=${formatIso(sinceS)}`));
    return {
      points: joinSteps(query, now, before, readNowMs(this.#store.state, performance.now()) / 1000),
      marks: marks.map(parseMark),
      names: names === undefined ? [] : (parseRows(names) as readonly NameRow[]),
      slower: since ? { ...since, rows: parseRows(since) as readonly NameRow[] } : undefined,
    };
  }

  async #steps(query: PastQuery, shiftS: number, step: number) {
    const range = `from=${formatIso(query.fromS - shiftS)}&to=${formatIso(query.toS - shiftS)}&step=${step}`;
    const path = `history?${range}&name=`;
    const calls = await this.#get<Steps>(query, `${path}${encodeURIComponent(query.name)}`);
    const sessions = query.isSingle ? undefined : await this.#get<Steps>(query, `${path}sessions.active`);
    return { calls, sessions };
  }

  /** Throws what the port says against it. */
  async #get<T>({ application }: PastQuery, path: string): Promise<T> {
    const answer: Answer<T> = await this.#api.get<T>(`${formatAdminPath(application)}/${path}`);
    if (answer.kind === 'ok') return answer.value;
    throw new Error(answer.kind === 'lost' ? answer.reason : answer.detail || `The port answers ${answer.status}.`);
  }
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
