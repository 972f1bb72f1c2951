/** The open view with its sorting and filter, kept in the URL fragment so that links and the back button work. */
import type { TableKind } from './live-data.ts';
import { formatPast, parsePast } from './past.ts';
import type { Sort, TableView } from './table-model.ts';

export interface Route {
  /** Undefined: the first application. */
  readonly application: string | undefined;
  readonly table: TableKind;
  /** Name of a call or object, or id of a session; undefined: the table. */
  readonly item: string | undefined;
  readonly view: TableView;
}

const TABLE_KINDS: readonly TableKind[] = ['rpc', 'sba', 'objects', 'sessions', 'running', 'slowest', 'unclassified'];

/** Tables whose rows have no view. */
const WITHOUT_ITEMS: ReadonlySet<TableKind> = new Set(['running', 'slowest', 'unclassified']);

/** Tables that need the role `sessions`. */
export const PERSONAL_TABLES: ReadonlySet<TableKind> = new Set(['sessions', ...WITHOUT_ITEMS]);

/** Stands for the root application, whose name is empty. */
const ROOT = '-';

/** Parses e.g. `#/smartWeb/rpc/E.Boiler.ReadState` or `#/smartWeb/rpc?sort=-p99&filter=boiler&errors&range=300`, or `#/smartWeb/rpc?past=86400&shift=604800` (past.ts). Falls back to the first application and its RPCs. */
export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [application, table, item] = path.split('/').map((part) => decode(part));
  const kind = TABLE_KINDS.find((known) => known === table) ?? 'rpc';
  return {
    application: application === '' ? undefined : application === ROOT ? '' : application,
    table: kind,
    item: item === '' || WITHOUT_ITEMS.has(kind) ? undefined : item,
    view: parseView(new URLSearchParams(query)),
  };
}

export function formatRoute({ application, table, item, view }: Partial<Route> & Pick<Route, 'table'>): string {
  const parts = [
    application === undefined ? '' : formatSegment(application),
    table,
    ...(item === undefined ? [] : [item]),
  ];
  const query = view === undefined ? '' : formatView(view);
  return `#/${parts.map((part) => encodeURIComponent(part)).join('/')}${query === '' ? '' : `?${query}`}`;
}

/** Links within the page have no range: the charts keep it, and the address has it again. */
export function keepRange({ view: { rangeS, past } }: Route, linked: Route): Route {
  const isSame = rangeS === undefined && past === undefined;
  if (isSame || linked.view.rangeS !== undefined || linked.view.past !== undefined) return linked;
  return { ...linked, view: { ...linked.view, rangeS, past } };
}

/** Before the name of a list in the view of a name or session, e.g. `sort.callers=-count`. */
const LIST_SORT = 'sort.';

function parseView(query: URLSearchParams): TableView {
  const sort = query.get('sort');
  const lists = [...query].filter(([key]) => key.startsWith(LIST_SORT));
  const range = Number(query.get('range'));
  return {
    sort: sort === null ? undefined : parseSort(sort),
    filter: query.get('filter') ?? '',
    onlyErrors: query.has('errors'),
    lists: Object.fromEntries(lists.map(([key, text]) => [key.slice(LIST_SORT.length), parseSort(text)])),
    rangeS: range > 0 ? range : undefined,
    past: parsePast(query),
  };
}

function formatView({ sort, filter, onlyErrors, lists, rangeS, past }: TableView): string {
  return new URLSearchParams({
    ...(sort === undefined ? {} : { sort: formatSort(sort) }),
    ...(filter === '' ? {} : { filter }),
    ...(onlyErrors ? { errors: '' } : {}),
    ...Object.fromEntries(Object.entries(lists).map(([name, chosen]) => [`${LIST_SORT}${name}`, formatSort(chosen)])),
    ...(rangeS === undefined ? {} : { range: String(rangeS) }),
    ...(past === undefined ? {} : formatPast(past)),
  }).toString();
}

function parseSort(text: string): Sort {
  return { key: text.replace(/^-/, ''), isDescending: text.startsWith('-') };
}

function formatSort({ key, isDescending }: Sort): string {
  return `${isDescending ? '-' : ''}${key}`;
}

/** The name of an application in the paths below `live/`. */
export function formatSegment(application: string): string {
  return application === '' ? ROOT : application;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // A fragment typed by hand: kept as typed.
    return part;
  }
}
