/** Equations between the clients' accounts of one life of the sidecar and its own metrics, once everything is quiet. */
import type { Samples } from '../../support/load/samples.ts';
import { USERS } from '../truth/call-plan.ts';
import type { Begun, LifeTally } from './life-tally.ts';

export interface Equation {
  readonly what: string;
  /** The clients' figure: exact, or between two bounds. */
  readonly least: number;
  readonly most: number;
  readonly counted: number;
}

export function holds({ least, most, counted }: Equation): boolean {
  return counted >= least && counted <= most;
}

export function knownOf({ least, most }: Equation): string {
  return least === most ? `${least}` : `${least} to ${most}`;
}

const READ_NAMES = Array.from({ length: 10 }, (_, i) => `H.Chaos${i}`);
const PUSHED_NAMES = Array.from({ length: 3 }, (_, i) => `P.Chaos${i}`);

/** Metrics that are zero when everything is quiet, or always. */
const ZEROS = [
  'd2_sidecar_exchanges_open',
  'd2_sidecar_connections',
  'd2_sidecar_upgraded_connections',
  'd2_comet_holds',
  'd2_sidecar_observer_errors_total',
  'd2_sidecar_connections_refused_total',
  'd2_sidecar_sessions_untracked_total',
  'd2_sidecar_comet_unread_total',
  'd2_sidecar_comet_untracked_total',
  'd2_sidecar_names_folded_total',
];

export function equationsOf(tally: LifeTally, samples: Samples): Equation[] {
  const { rpc, object, page, live } = tally;
  const calls = (kind: string, ...outcome: string[]) => samples.sum('d2_calls_total', { kind, outcome });
  const aborted = (kind: string) => samples.sum('d2_calls_aborted_total', { kind });
  const unanswered = (kind: string) => samples.sum('d2_calls_unanswered_total', { kind });
  const values = (name: readonly string[]) => samples.sum('d2_object_values_total', { name });
  const exchanges = (labels = {}) => samples.sum('d2_sidecar_exchanges_total', labels);
  const messages = (sender: string) => samples.sum('d2_comet_messages_total', { sender });
  const all = (kind: string) => calls(kind, 'ok', 'client_error', 'error') + aborted(kind);
  const unclassified = samples.sum('d2_sidecar_unclassified_exchanges_total');
  const comet = samples.sum('d2_sidecar_comet_exchanges_total');
  const reads = object.values + object.others + object.broken;
  const noClass = { sure: page.sure + live.sure, perhaps: page.perhaps + live.perhaps };
  return [
    exactly('rpc calls answered below 500', rpc.below500, calls('rpc', 'ok', 'client_error')),
    exactly('rpc calls that are errors', rpc.errors, calls('rpc', 'error')),
    exactly('rpc calls not answered', rpc.broken, unanswered('rpc')),
    exactly('rpc calls aborted', 0, aborted('rpc')),
    exactly('values read', object.values, values(READ_NAMES)),
    exactly('reads not answered', object.broken, unanswered('object')),
    exactly('reads aborted', 0, aborted('object')),
    exactly('connections', tally.connected, samples.sum('d2_sidecar_connections_accepted_total')),
    exactly(
      'exchanges, as the sum of their kinds',
      all('rpc') + all('sba') + reads + unclassified + comet,
      exchanges(),
    ),
    between('sba calls', tally.sba, samples.sum('d2_calls_total', { kind: 'sba' }) + aborted('sba')),
    between('exchanges of no class', noClass, unclassified),
    between('exchanges of Comet', tally.comet, comet),
    between('exchanges completed', tally.completed, exchanges({ ending: 'completed' })),
    between('exchanges failed', tally.failed, exchanges({ ending: 'failed' })),
    between('upgrades', tally.upgrades, samples.sum('d2_sidecar_upgrades_total')),
    between('values pushed', tally.pushedValues, values(PUSHED_NAMES)),
    between('Comet messages of clients', tally.clientMessages, messages('client')),
    between('Comet messages of the upstream', tally.serverMessages, messages('upstream')),
    {
      ...{ what: 'sessions begun', least: tally.users.size, most: USERS },
      counted: samples.sum('d2_sessions_created_total'),
    },
    ...ZEROS.map((name) => exactly(name, 0, samples.sum(name))),
  ];
}

function exactly(what: string, known: number, counted: number): Equation {
  return { what, least: known, most: known, counted };
}

function between(what: string, { sure, perhaps }: Pick<Begun, 'sure' | 'perhaps'>, counted: number): Equation {
  return { what, least: sure, most: sure + perhaps, counted };
}
