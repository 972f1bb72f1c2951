/** The sidecar itself: its traffic, its failures and limits, and its process. */
import type { MonitoredNumbers, MonitoredSidecar } from '../monitored.ts';
import type { ProcessReading } from '../process-reading.ts';
import { lifecycleTables } from './lifecycle-tables.ts';
import { labelled, single, type Table } from './table.ts';

const COUNTER = 'counter';
const GAUGE = 'gauge';

/** Calls that ended without a complete answer, by kind only. */
export function brokenCallTables({ aborted, failed }: MonitoredNumbers): readonly Table[] {
  return [
    labelled(
      {
        type: COUNTER,
        name: 'd2_calls_aborted_total',
        help: 'Calls whose client left before the answer was complete; neither a duration nor an error.',
        label: 'kind',
      },
      () => aborted,
    ),
    labelled(
      {
        type: COUNTER,
        name: 'd2_calls_unanswered_total',
        help: 'Calls that the upstream did not answer, or not to the end.',
        label: 'kind',
      },
      () => failed,
    ),
  ];
}

export function trafficTables(sidecar: MonitoredSidecar, numbers: MonitoredNumbers): readonly Table[] {
  const { reporter, upstream } = sidecar;
  const { kind } = upstream.reachability;
  return [
    single(GAUGE, 'd2_upstream_reachable', 'Whether the upstream took the last connection that was tried.', () =>
      kind === 'unknown' ? undefined : Number(kind === 'reachable'),
    ),
    {
      name: 'd2_sidecar_exchanges_total',
      type: COUNTER,
      help: 'Exchanges by data path and ending: completed, failed (by the upstream), cancelled (by the client), denied (by rest.deny).',
      labels: ['path', 'ending'],
      *samples() {
        for (const [path, endings] of Object.entries(numbers.exchanges)) {
          for (const [ending, value] of Object.entries(endings)) yield { labels: [path, ending], value };
        }
      },
    },
    labelled(
      {
        type: COUNTER,
        name: 'd2_sidecar_upstream_failures_total',
        help: 'Exchanges that ended as failed, by code (docs/errors.md).',
        label: 'code',
      },
      () => reporter.failures.counts,
    ),
    single(GAUGE, 'd2_sidecar_exchanges_open', 'Exchanges begun and not yet ended.', () => reporter.open),
    single(
      GAUGE,
      'd2_sidecar_requests_in_flight',
      'Requests that are with the upstream now, held long polls among them.',
      () => reporter.inFlight,
    ),
    single(
      COUNTER,
      'd2_sidecar_unclassified_exchanges_total',
      'Exchanges that were no call of any kind, nor of Comet.',
      () => numbers.unclassified,
    ),
    single(
      COUNTER,
      'd2_sidecar_comet_exchanges_total',
      'Exchanges with the Comet endpoint, and login forms.',
      () => numbers.cometExchanges,
    ),
    single(COUNTER, 'd2_sidecar_upgrades_total', 'Upgrades that the upstream accepted.', () => numbers.upgrades),
    addedTable(numbers),
    ...connectionTables(sidecar),
    ...lifecycleTables(sidecar),
  ];
}

/** docs/prometheus.md says at which moments the time is measured. */
function addedTable({ added }: MonitoredNumbers): Table {
  return {
    name: 'd2_sidecar_added_seconds',
    type: 'histogram',
    help: 'Time added by the relay: from the head of a request, or the last byte of a response, having been read until it has been written on; of one in 17.',
    labels: ['direction'],
    *samples() {
      for (const [direction, durations] of Object.entries(added)) yield { labels: [direction], value: durations };
    },
  };
}

function connectionTables({ dispatcher, gateway }: MonitoredSidecar): readonly Table[] {
  return [
    single(GAUGE, 'd2_sidecar_connections', 'Client connections open now.', () => dispatcher.openConnections),
    single(
      GAUGE,
      'd2_sidecar_client_addresses',
      'Addresses that client connections are open from now.',
      () => dispatcher.clientAddresses,
    ),
    single(
      GAUGE,
      'd2_sidecar_upgraded_connections',
      'Client connections that are WebSockets now.',
      () => gateway.upgradedConnections,
    ),
    single(
      COUNTER,
      'd2_sidecar_connections_accepted_total',
      'Client connections accepted.',
      () => dispatcher.acceptedConnections,
    ),
    labelled(
      {
        type: COUNTER,
        name: 'd2_sidecar_connections_handed_over_total',
        help: 'Client connections handed over from the relay to the gateway, by what was irregular.',
        label: 'reason',
      },
      () => dispatcher.handedOver,
    ),
  ];
}

/** Everything that was refused, given up or lost because of a limit or an error. Healthy counters here do not rise. */
export function limitTables(sidecar: MonitoredSidecar, numbers: MonitoredNumbers): readonly Table[] {
  const { dispatcher, gateway, reporter, access, limits, memory } = sidecar;
  return [
    labelled(
      {
        type: COUNTER,
        name: 'd2_sidecar_limit_hits_total',
        help: 'Requests and connections that were refused or ended for a limit, by the key that sets it (docs/limits.md).',
        label: 'limit',
      },
      () => limits.counts,
    ),
    labelled(
      {
        type: GAUGE,
        name: 'd2_sidecar_kept_bytes',
        help: 'Bytes kept because of what clients send, by kind; together at most limits.memoryBytes.',
        label: 'kind',
      },
      () => memory.used,
    ),
    labelled(
      {
        type: COUNTER,
        name: 'd2_sidecar_kept_bytes_refusals_total',
        help: 'How often something was not kept since limits.memoryBytes left no room for it, by kind.',
        label: 'kind',
      },
      () => memory.refusals,
    ),
    single(
      COUNTER,
      'd2_sidecar_connections_refused_total',
      'Client connections closed at once, since limits.connections were open.',
      () => dispatcher.refusedConnections,
    ),
    single(
      COUNTER,
      'd2_sidecar_gateway_overflows_total',
      'Connections refused further requests, since too many of theirs were waiting.',
      () => gateway.overflowedConnections,
    ),
    single(
      COUNTER,
      'd2_sidecar_sessions_untracked_total',
      'Calls that would have begun a session when there were sessions.max already.',
      () => numbers.sessionsUntracked,
    ),
    labelled(
      {
        type: COUNTER,
        name: 'd2_sidecar_unverified_sessions_refused_total',
        help: 'Accepted calls with an unproven credential beside a login that got no session: 8 of the cookie, or 32 of the address within a minute, were there.',
        label: 'limit',
      },
      () => numbers.claimsRefused,
    ),
    single(
      COUNTER,
      'd2_sidecar_descriptor_shortages_total',
      'Looks, one each second, that found no file descriptor left: clients were turned away.',
      () => dispatcher.descriptorShortages,
    ),
    single(
      COUNTER,
      'd2_sidecar_log_lines_lost_total',
      'Log lines that could not be written, since nobody read them or the disk was full.',
      () => sidecar.log?.lostLines,
    ),
    single(
      COUNTER,
      'd2_sidecar_observer_errors_total',
      'Failures in measuring; the traffic was not touched.',
      () => reporter.observerErrors,
    ),
    single(
      COUNTER,
      'd2_sidecar_monitor_wrong_credentials_total',
      'Wrong credentials on the monitoring port.',
      () => access?.counts.wrong,
    ),
    single(
      COUNTER,
      'd2_sidecar_monitor_limited_requests_total',
      'Requests on the monitoring port that were told to come later.',
      () => access?.counts.limited,
    ),
    single(
      COUNTER,
      'd2_sidecar_history_marks_dropped_total',
      'Marks of the live page (restarts, drains, losses) that went for later ones, of which it keeps 200.',
      () => sidecar.droppedMarks,
    ),
  ];
}

/** Uses the names of the Prometheus libraries where they exist. */
export function processTables(
  { version, build, loopDelay }: MonitoredSidecar,
  reading: ProcessReading,
): readonly Table[] {
  return [
    {
      name: 'd2_sidecar_build_info',
      type: 'info',
      help: 'Version of the sidecar, the source that it was made of, and the Node that it runs on.',
      labels: ['version', 'build', 'node'],
      *samples() {
        yield { labels: [version, build, process.version], value: 1 };
      },
    },
    {
      name: 'd2_sidecar_loop_delay_seconds',
      type: 'histogram',
      help: 'How late the event loop ran what was due; looked at 50 times a second.',
      labels: [],
      *samples() {
        yield { labels: [], value: loopDelay.durations };
      },
    },
    single(
      COUNTER,
      'd2_sidecar_loop_active_seconds_total',
      'Time in which the event loop had something to do.',
      () => reading.loopActiveSeconds,
    ),
    single(COUNTER, 'process_cpu_seconds_total', 'Processor time, user and system.', () => reading.cpuSeconds),
    single(
      GAUGE,
      'process_start_time_seconds',
      'When the process started, in seconds since 1970.',
      () => reading.startTimeSeconds,
    ),
    single(GAUGE, 'process_resident_memory_bytes', 'Resident memory.', () => reading.residentBytes),
    single(GAUGE, 'process_open_fds', 'Open file descriptors.', () => reading.openFds),
    single(GAUGE, 'process_max_fds', 'File descriptors that may be open.', () => reading.maxFds),
    single(GAUGE, 'nodejs_heap_size_used_bytes', 'Heap of JavaScript in use.', () => reading.heapUsedBytes),
    single(GAUGE, 'nodejs_heap_size_total_bytes', 'Heap of JavaScript reserved.', () => reading.heapTotalBytes),
    single(
      GAUGE,
      'nodejs_external_memory_bytes',
      'Memory outside the heap that JavaScript objects hold.',
      () => reading.externalBytes,
    ),
  ];
}
