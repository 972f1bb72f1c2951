import { counter, gauge, info, type MetricDescription } from '../../base/metric-description.ts';
import type { Alerts } from './alerts.ts';

type Source = Pick<Alerts, 'outboxes' | 'episodes'>;

const byChannel = (number: keyof Source['outboxes'][number]['numbers']) => (source: Source) =>
  source.outboxes.map(({ channel, numbers }) => [channel.name, numbers[number]] as const);

export const ALERT_METRICS: readonly MetricDescription<Source>[] = [
  counter('d2_sidecar_alerts_sent_total', 'Messages that were delivered.', byChannel('sent'), 'channel'),
  counter('d2_sidecar_alerts_failures_total', 'Failed tries to deliver a message.', byChannel('failures'), 'channel'),
  counter(
    'd2_sidecar_alerts_dropped_total',
    'Messages never delivered: refused, or too many waited.',
    byChannel('dropped'),
    'channel',
  ),
  gauge('d2_sidecar_alerts_queue_length', 'Messages that wait for delivery.', byChannel('waiting'), 'channel'),
  gauge('d2_sidecar_alerts_failing', 'Whether the last try to deliver failed.', byChannel('failing'), 'channel'),
  info(
    'd2_sidecar_alerts_failure_info',
    'Why the last try to deliver a message failed: a code of the system, TLS, HTTP or SMTP, timeout or other; else absent.',
    ({ outboxes }) =>
      outboxes.flatMap(({ channel, failure }) =>
        failure === undefined ? [] : [[channel.name, { [codeIn(failure.reason)]: 1 }] as const],
      ),
    'channel',
    'reason',
  ),
  counter(
    'd2_sidecar_alerts_untold_total',
    'Messages never sent, for alerts.maxPerHour or a silence.',
    ({ episodes }) => episodes.untoldTotal,
    'reason',
  ),
  gauge('d2_sidecar_alerts_silenced', 'Whether messages are silenced now.', ({ episodes }) =>
    Number(episodes.isSilent),
  ),
];

/** E.g. `ECONNREFUSED`, `503` or `535`: labels are closed sets, and the text may name a file. */
function codeIn(reason: string): string {
  if (reason.startsWith('no answer within')) return 'timeout';
  return /(?:\((?:SMTP )?|answered )([A-Z][A-Z0-9_]+|\d{3})\b/.exec(reason)?.[1] ?? 'other';
}
