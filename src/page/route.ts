/** The open view, kept in the URL fragment so that links and the back button work. */
import type { TableKind } from './live-data.ts';

export interface Route {
  /** Undefined: the first application. */
  readonly application: string | undefined;
  readonly table: TableKind;
  /** Name of a call or object, or id of a session; undefined: the table. */
  readonly item: string | undefined;
}

export const TABLE_KINDS: readonly TableKind[] = [
  'rpc',
  'sba',
  'objects',
  'sessions',
  'running',
  'slowest',
  'unclassified',
];

/** Tables whose rows have no view. */
const WITHOUT_ITEMS: ReadonlySet<TableKind> = new Set(['running', 'slowest', 'unclassified']);

/** Tables that need the role `sessions`. */
export const PERSONAL_TABLES: ReadonlySet<TableKind> = new Set(['sessions', ...WITHOUT_ITEMS]);

/** Stands for the root application, whose name is empty. */
const ROOT = '-';

/** Parses e.g. `#/smartWeb/rpc/E.Boiler.ReadState`. Falls back to the first application and its RPCs. */
export function parseRoute(hash: string): Route {
  const [application, table, item] = hash
    .replace(/^#\/?/, '')
    .split('/')
    .map((part) => decode(part));
  const kind = TABLE_KINDS.find((known) => known === table) ?? 'rpc';
  return {
    application: application === undefined || application === '' ? undefined : fromSegment(application),
    table: kind,
    item: item === '' || WITHOUT_ITEMS.has(kind) ? undefined : item,
  };
}

export function formatRoute({ application, table, item }: Partial<Route> & Pick<Route, 'table'>): string {
  const parts = [formatSegment(application ?? ''), table, ...(item === undefined ? [] : [item])];
  return `#/${parts.map((part) => encodeURIComponent(part)).join('/')}`;
}

/** The name of an application in the paths below `live/`. */
export function formatSegment(application: string): string {
  return application === '' ? ROOT : application;
}

function fromSegment(segment: string): string {
  return segment === ROOT ? '' : segment;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // A fragment typed by hand: kept as typed.
    return part;
  }
}
