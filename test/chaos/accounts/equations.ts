/** Equations between the clients' accounts of one life of the sidecar and its own metrics, once everything is quiet. */
import type { Samples } from '../../support/load/sidecar.ts';
import { USERS } from '../truth/call-plan.ts';
import type { LifeTally } from './life-tally.ts';

const READ_NAMES = Array.from({ length: 10 }, (_, i) => `H.Chaos${i}`);
const PUSHED_NAMES = Array.from({ length: 3 }, (_, i) => `P.Chaos${i}`);

/** Metrics that are zero when everything is quiet, or always. */
const ZEROS = [
  ...['d2_sidecar_exchanges_open', 'd2_sidecar_connections', 'd2_sidecar_upgraded_connections', 'd2_comet_holds'],
  ...['d2_sidecar_observer_errors_total', 'd2_sidecar_connections_refused_total'],
  ...['d2_sidecar_sessions_untracked_total', 'd2_sidecar_comet_unread_total', 'd2_sidecar_comet_untracked_total'],
  'd2_sidecar_names_folded_total',
];

/** Those that do not hold, with both sides. */
export function unequal(tally: LifeTally, samples: Samples): string[] {
  const { rpc, object, page, live } = tally;
  const wrong: string[] = [];
  const between = (what: string, { sure, perhaps }: { sure: number; perhaps: number }, counted: number) => {
    const known = perhaps === 0 ? sure : `${sure} to ${sure + perhaps}`;
    if (counted < sure || counted > sure + perhaps)
      wrong.push(`${what}: ${counted} at the sidecar, ${known} at the clients`);
  };
  const exactly = (what: string, sure: number, counted: number) => between(what, { sure, perhaps: 0 }, counted);
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
  const sessions = { sure: tally.users.size, perhaps: USERS - tally.users.size };
  exactly('rpc calls answered below 500', rpc.below500, calls('rpc', 'ok', 'client_error'));
  exactly('rpc calls that are errors', rpc.errors, calls('rpc', 'error'));
  exactly('rpc calls not answered', rpc.broken, unanswered('rpc'));
  exactly('rpc calls aborted', 0, aborted('rpc'));
  exactly('values read', object.values, values(READ_NAMES));
  exactly('reads not answered', object.broken, unanswered('object'));
  exactly('reads aborted', 0, aborted('object'));
  exactly('connections', tally.connected, samples.sum('d2_sidecar_connections_accepted_total'));
  exactly('exchanges of all kinds', all('rpc') + all('sba') + reads + unclassified + comet, exchanges());
  between('sba calls', tally.sba, samples.sum('d2_calls_total', { kind: 'sba' }) + aborted('sba'));
  const noClass = { sure: page.sure + live.sure, perhaps: page.perhaps + live.perhaps };
  between('exchanges of no class', noClass, unclassified);
  between('exchanges of Comet', tally.comet, comet);
  between('exchanges completed', tally.completed, exchanges({ ending: 'completed' }));
  between('exchanges failed', tally.failed, exchanges({ ending: 'failed' }));
  between('upgrades', tally.upgrades, samples.sum('d2_sidecar_upgrades_total'));
  between('values pushed', tally.pushedValues, values(PUSHED_NAMES));
  between('Comet messages of clients', tally.clientMessages, messages('client'));
  between('Comet messages of the upstream', tally.serverMessages, messages('upstream'));
  between('sessions begun', sessions, samples.sum('d2_sessions_created_total'));
  for (const name of ZEROS) exactly(name, 0, samples.sum(name));
  return wrong;
}
