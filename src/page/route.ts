/** What is looked at, kept in the address behind `#`, so that it can be linked to and the back button works. */
import type { TableKind } from './live-data.ts';

export interface Route {
  /** Name of the application; undefined: the first one. */
  readonly application: string | undefined;
  readonly table: TableKind;
  /** Name of the RPC or object, or id of the session; undefined: the table. */
  readonly item: string | undefined;
}

export const TABLE_KINDS: readonly TableKind[] = ['rpc', 'sba', 'objects', 'sessions'];

/** The root's name is empty, which a path cannot show. */
const ROOT = '-';

/** `#/smartWeb/rpc/E.Boiler.ReadState`; what cannot be read is the first application's RPCs. */
export function parseRoute(hash: string): Route {
  const [application, table, item] = hash
    .replace(/^#\/?/, '')
    .split('/')
    .map((part) => decode(part));
  return {
    application: application === undefined || application === '' ? undefined : fromSegment(application),
    table: TABLE_KINDS.find((kind) => kind === table) ?? 'rpc',
    item: item === '' ? undefined : item,
  };
}

export function toHash({ application, table, item }: Route): string {
  const parts = [toSegment(application ?? ''), table, ...(item === undefined ? [] : [item])];
  return `#/${parts.map((part) => encodeURIComponent(part)).join('/')}`;
}

/** As the paths below `live/` name an application. */
export function toSegment(application: string): string {
  return application === '' ? ROOT : application;
}

function fromSegment(segment: string): string {
  return segment === ROOT ? '' : segment;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // A hash that somebody typed: shown as typed.
    return part;
  }
}
