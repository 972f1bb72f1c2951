import { DurationBuckets, type DurationBucketsReading, toBounds } from '../../metrics/duration-buckets.ts';
import type { Direction } from '../../proxy/exchange/added-time.ts';
import type { DataPath, Ending } from '../../proxy/exchange/exchange.ts';
import type { ArchiveReader } from '../../state/archive/archive-reader.ts';
import { loadCounters, saveCounters, takeCounters } from '../../state/archive/archive-record.ts';
import type { ArchiveWriter } from '../../state/archive/archive-writer.ts';
import type { CallKind } from '../classify/classifier.ts';
import type { ClaimLimit, SessionTable } from '../sessions/session-table.ts';
import type { CometNumbers } from './comet/comet-metrics.ts';

export type EndingKind = Ending['kind'];

/** Buckets for the time that the sidecar adds. Anything from one turn of a busy event loop upwards is too much. */
const ADDED_BOUNDS = toBounds([0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1]);

/** Plain numbers since the start, at the moment of reading. */
export interface OwnNumbers {
  /** Exchanges by data path and ending, e.g. `exchanges.relay.completed`; includes those that are not calls. */
  readonly exchanges: Readonly<Record<DataPath, Readonly<Record<EndingKind, number>>>>;
  /** Upgrades that the upstream accepted, i.e. WebSockets. */
  readonly upgrades: number;
  /** Calls by kind whose client left before the answer was complete. They count in no timer and as no error. */
  readonly aborted: Readonly<Record<CallKind, number>>;
  /** Calls by kind with no answer, or an incomplete one, from the upstream. */
  readonly failed: Readonly<Record<CallKind, number>>;
  /** Exchanges that are not calls: pages, `admin/...`, unknown paths. */
  readonly unclassified: number;
  /** Exchanges with the Comet endpoint, and login forms; their messages are counted in `comet`. */
  readonly cometExchanges: number;
  readonly comet: CometNumbers;
  /** Time that requests and responses spend in the relay. A live histogram, unlike the other numbers. */
  readonly added: Readonly<Record<Direction, DurationBucketsReading>>;
  /** Calls that began no session because there were `sessions.max` already. */
  readonly sessionsUntracked: number;
  /** Accepted calls that began no unverified session, by limit. */
  readonly claimsRefused: Readonly<Record<ClaimLimit, number>>;
}

type CountedTable = Pick<SessionTable, 'untracked' | 'refusedClaims'>;

export class OwnMetrics {
  readonly #exchanges: Record<DataPath, Record<EndingKind, number>> = {
    relay: { completed: 0, failed: 0, cancelled: 0, denied: 0 },
    gateway: { completed: 0, failed: 0, cancelled: 0, denied: 0 },
  };
  readonly #aborted: Record<CallKind, number> = { rpc: 0, sba: 0, object: 0, session: 0 };
  readonly #failed: Record<CallKind, number> = { rpc: 0, sba: 0, object: 0, session: 0 };
  readonly #tables: readonly CountedTable[];
  readonly #comet: { read(): CometNumbers };
  readonly #added = { request: new DurationBuckets(ADDED_BOUNDS), response: new DurationBuckets(ADDED_BOUNDS) };
  #upgrades = 0;
  #unclassified = 0;
  #cometExchanges = 0;

  constructor(tables: readonly CountedTable[], comet: { read(): CometNumbers }) {
    this.#tables = tables;
    this.#comet = comet;
  }

  /** `status`: of the final response, 101 for an accepted upgrade, 0 without a response. */
  exchangeEnded(path: DataPath, ending: EndingKind, status: number): void {
    this.#exchanges[path][ending] += 1;
    if (status === 101) this.#upgrades += 1;
  }

  callEnded(kind: CallKind, ending: EndingKind): void {
    if (ending === 'cancelled') this.#aborted[kind] += 1;
    else if (ending === 'failed') this.#failed[kind] += 1;
  }

  exchangeUnclassified(): void {
    this.#unclassified += 1;
  }

  exchangeOfComet(): void {
    this.#cometExchanges += 1;
  }

  timeAdded(direction: Direction, addedNs: number): void {
    this.#added[direction].add(addedNs);
  }

  /** Synchronous, so all counters are of one moment. `added` is not saved: it describes this process only. */
  save(out: ArchiveWriter): void {
    for (const counters of this.#records()) saveCounters(out, counters);
    for (const count of [this.#upgrades, this.#unclassified, this.#cometExchanges]) out.count(count);
  }

  load(input: ArchiveReader): void {
    for (const counters of this.#records()) takeCounters(counters, loadCounters(input));
    this.#upgrades = input.count();
    this.#unclassified = input.count();
    this.#cometExchanges = input.count();
  }

  #records(): readonly Record<string, number>[] {
    return [this.#exchanges.relay, this.#exchanges.gateway, this.#aborted, this.#failed];
  }

  read(): OwnNumbers {
    return {
      exchanges: { relay: { ...this.#exchanges.relay }, gateway: { ...this.#exchanges.gateway } },
      upgrades: this.#upgrades,
      aborted: { ...this.#aborted },
      failed: { ...this.#failed },
      unclassified: this.#unclassified,
      cometExchanges: this.#cometExchanges,
      comet: this.#comet.read(),
      added: this.#added,
      sessionsUntracked: this.#sumOf(({ untracked }) => untracked),
      claimsRefused: {
        cookie: this.#sumOf(({ refusedClaims }) => refusedClaims.cookie),
        address: this.#sumOf(({ refusedClaims }) => refusedClaims.address),
      },
    };
  }

  #sumOf(count: (table: CountedTable) => number): number {
    return this.#tables.reduce((sum, table) => sum + count(table), 0);
  }
}
