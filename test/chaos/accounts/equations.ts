/** Equations between the clients' accounts of one life of the sidecar and its own metrics, once everything is quiet. */
import { USERS } from '../truth/call-plan.ts';
import type { Begun, LifeTally } from './life-tally.ts';
import type { Samples } from './samples.ts';

export interface Equation {
  readonly what: string;
  /** The clients' figure: exact, or between two bounds. */
  readonly least: number;
  readonly most: number;
  /** The sidecar's figure. */
  readonly counted: number;
}

export function holds({ least, most, counted }: Equation): boolean {
  return counted >= least && counted <= most;
}

const CALLS = 'd2_calls_total';
const ABORTED = 'd2_calls_aborted_total';
const UNANSWERED = 'd2_calls_unanswered_total';
const EXCHANGES = 'd2_sidecar_exchanges_total';
const VALUES = 'd2_object_values_total';
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
  'd2_sidecar_gateway_overflows_total',
  'd2_sidecar_sessions_untracked_total',
  'd2_sidecar_comet_unread_total',
  'd2_sidecar_comet_untracked_total',
  'd2_sidecar_names_folded_total',
];

export function equationsOf(tally: LifeTally, samples: Samples): Equation[] {
  return [
    ...exactEquations(tally, samples),
    ...boundedEquations(tally, samples),
    ...ZEROS.map((name) => exactly(name, 0, samples.sum(name))),
  ];
}

function exactEquations({ rpc, object, connected }: LifeTally, samples: Samples): Equation[] {
  const calls = (kind: string, outcome: readonly string[]) => samples.sum(CALLS, { kind, outcome });
  const of = (kind: string) => calls(kind, ['ok', 'client_error', 'error']) + samples.sum(ABORTED, { kind });
  const classified =
    of('rpc') +
    of('sba') +
    object.values +
    object.others +
    object.broken +
    samples.sum('d2_sidecar_unclassified_exchanges_total') +
    samples.sum('d2_sidecar_comet_exchanges_total');
  return [
    exactly('rpc calls answered below 500', rpc.below500, calls('rpc', ['ok', 'client_error'])),
    exactly('rpc calls that are errors', rpc.errors, calls('rpc', ['error'])),
    exactly('rpc calls not answered', rpc.broken, samples.sum(UNANSWERED, { kind: 'rpc' })),
    exactly('rpc calls aborted', 0, samples.sum(ABORTED, { kind: 'rpc' })),
    exactly('values read', object.values, samples.sum(VALUES, { name: READ_NAMES })),
    exactly('reads not answered', object.broken, samples.sum(UNANSWERED, { kind: 'object' })),
    exactly('reads aborted', 0, samples.sum(ABORTED, { kind: 'object' })),
    exactly('connections', connected, samples.sum('d2_sidecar_connections_accepted_total')),
    exactly('exchanges, as the sum of their kinds', classified, samples.sum(EXCHANGES)),
  ];
}

function boundedEquations(tally: LifeTally, samples: Samples): Equation[] {
  const sba = samples.sum(CALLS, { kind: 'sba' }) + samples.sum(ABORTED, { kind: 'sba' });
  const unclassified = { sure: tally.page.sure + tally.live.sure, perhaps: tally.page.perhaps + tally.live.perhaps };
  const messages = (sender: string) => samples.sum('d2_comet_messages_total', { sender });
  return [
    between('sba calls', tally.sba, sba),
    between('exchanges of no class', unclassified, samples.sum('d2_sidecar_unclassified_exchanges_total')),
    between('exchanges of Comet', tally.comet, samples.sum('d2_sidecar_comet_exchanges_total')),
    between('exchanges completed', tally.completed, samples.sum(EXCHANGES, { ending: 'completed' })),
    between('exchanges failed', tally.failed, samples.sum(EXCHANGES, { ending: 'failed' })),
    between('upgrades', tally.upgrades, samples.sum('d2_sidecar_upgrades_total')),
    between('values pushed', tally.pushedValues, samples.sum(VALUES, { name: PUSHED_NAMES })),
    between('Comet messages of clients', tally.clientMessages, messages('client')),
    between('Comet messages of the upstream', tally.serverMessages, messages('upstream')),
    {
      what: 'sessions begun',
      least: tally.users.size,
      most: USERS,
      counted: samples.sum('d2_sessions_created_total'),
    },
  ];
}

function exactly(what: string, known: number, counted: number): Equation {
  return { what, least: known, most: known, counted };
}

function between(what: string, { sure, perhaps }: Begun, counted: number): Equation {
  return { what, least: sure, most: sure + perhaps, counted };
}
