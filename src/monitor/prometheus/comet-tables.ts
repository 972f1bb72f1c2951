import { NS_PER_S } from '../../base/clock.ts';
import type { MonitoredComet } from '../monitored.ts';
import { labelled, single, type Table } from './table.ts';

/** Comet numbers other than calls and objects. */
export function cometTables(comet: MonitoredComet): readonly Table[] {
  const { messages, holds, handshakes, unanswered } = comet;
  const counter = 'counter';
  return [
    labelled(
      { type: counter, name: 'd2_comet_messages_total', help: 'Bayeux messages by who sent them.', label: 'sender' },
      () => messages,
    ),
    single('gauge', 'd2_comet_holds', 'Connects that the server holds now.', () => holds.now),
    labelled(
      {
        type: counter,
        name: 'd2_comet_holds_ended_total',
        help: 'Held connects by what ended them: delivery, empty (nothing to tell), broken.',
        label: 'ending',
      },
      () => holds.ended,
    ),
    {
      name: 'd2_comet_hold_duration_seconds',
      type: 'summary',
      help: 'For how long connects were held; in no duration of calls.',
      labels: [],
      *samples() {
        const { count, mean } = holds.duration.snapshot();
        // The timer covers its whole life, so this is the sum of all durations, up to rounding.
        yield { labels: [], value: { count, sum: (mean * count) / NS_PER_S } };
      },
    },
    labelled(
      { type: counter, name: 'd2_comet_handshakes_total', help: 'Handshakes by outcome.', label: 'outcome' },
      () => ({ accepted: handshakes.accepted, refused: handshakes.refused }),
    ),
    single(
      counter,
      'd2_comet_handshake_storms_total',
      'Times that very many handshakes came at once.',
      () => handshakes.storms,
    ),
    single(
      counter,
      'd2_comet_unknown_clients_total',
      'Answers by which the server did not know the client any more.',
      () => comet.unknownClients,
    ),
    single(
      counter,
      'd2_comet_fallbacks_total',
      'Clients that went on by long-polling where WebSocket had been possible.',
      () => comet.fallbacks,
    ),
    single(
      counter,
      'd2_comet_connect_gaps_total',
      'Connects that came later than the server had advised.',
      () => comet.connectGaps,
    ),
    single(
      counter,
      'd2_comet_adopted_clients_total',
      'Clients that had been there before the sidecar.',
      () => comet.adopted,
    ),
    labelled(
      {
        type: counter,
        name: 'd2_comet_unanswered_calls_total',
        help: 'Calls without an answer, by what became of them.',
        label: 'reason',
      },
      () => ({ timed_out: unanswered.timedOut, abandoned: unanswered.abandoned }),
    ),
    labelled(
      {
        type: counter,
        name: 'd2_sidecar_comet_unread_total',
        help: 'Comet traffic that was passed on unread, by reason.',
        label: 'reason',
      },
      () => comet.unread,
    ),
    labelled(
      {
        type: counter,
        name: 'd2_sidecar_comet_untracked_total',
        help: 'What a full table had no place for, by table.',
        label: 'table',
      },
      () => comet.untracked,
    ),
  ];
}
