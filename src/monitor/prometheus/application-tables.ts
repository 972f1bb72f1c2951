/** Calls, sessions and objects: the tables that can be large. */
import type { CallCountsReading } from '../../metrics/call-counts.ts';
import type { MonitoredApplication } from '../monitored.ts';
import type { Sample, Table } from './table.ts';

const CALL_KINDS = ['rpc', 'sba'] as const;
const NAMED_KINDS = [...CALL_KINDS, 'object'] as const;

type Applications = readonly MonitoredApplication[];

export function applicationTables(applications: Applications): readonly Table[] {
  return [...callTables(applications), ...sessionTables(applications), ...objectTables(applications)];
}

function callTables(applications: Applications): readonly Table[] {
  return [
    {
      name: 'd2_call_duration_seconds',
      type: 'histogram',
      help: 'Durations of answered RPC calls, from the head of the request to the last byte of the response.',
      labels: ['application', 'kind', 'name'],
      *samples() {
        for (const { application, kind, name, counts } of allCalls(applications)) {
          yield { labels: [application, kind, name], value: counts.durations };
        }
      },
    },
    {
      name: 'd2_calls_total',
      type: 'counter',
      help: 'RPC calls by outcome: ok, client_error (status 400 to 499), error (500 and above, or no answer).',
      labels: ['application', 'kind', 'name', 'outcome'],
      *samples() {
        for (const { application, kind, name, counts } of allCalls(applications)) {
          yield { labels: [application, kind, name, 'ok'], value: counts.ok };
          yield { labels: [application, kind, name, 'client_error'], value: counts.clientErrors };
          yield { labels: [application, kind, name, 'error'], value: counts.errors };
        }
      },
    },
  ];
}

interface Calls {
  readonly application: string;
  readonly kind: string;
  readonly name: string;
  readonly counts: CallCountsReading;
}

function* allCalls(applications: Applications): Generator<Calls, void, undefined> {
  for (const { name: application, statistics } of applications) {
    for (const kind of CALL_KINDS) {
      for (const [name, counts] of statistics[kind].counts) yield { application, kind, name, counts };
    }
  }
}

function sessionTables(applications: Applications): readonly Table[] {
  return [
    {
      name: 'd2_sessions',
      type: 'gauge',
      help: 'Sessions now, by what their clients connect with.',
      labels: ['application', 'connection_type'],
      *samples() {
        for (const { name, sessions } of applications) {
          for (const [type, value] of Object.entries(sessions.countsByType())) yield { labels: [name, type], value };
        }
      },
    },
    {
      name: 'd2_sessions_created_total',
      type: 'counter',
      help: 'Sessions begun.',
      labels: ['application'],
      *samples() {
        for (const { name, sessions } of applications) yield { labels: [name], value: sessions.created.count };
      },
    },
    {
      name: 'd2_session_creation_duration_seconds',
      type: 'histogram',
      help: 'Durations of the calls that began a session.',
      labels: ['application'],
      *samples() {
        for (const { name, sessions } of applications) {
          const { durations } = sessions.created;
          if (durations !== undefined) yield { labels: [name], value: durations };
        }
      },
    },
  ];
}

function objectTables(applications: Applications): readonly Table[] {
  return [
    {
      name: 'd2_objects_monitored',
      type: 'gauge',
      help: 'Objects with at least one monitoring now.',
      labels: ['application'],
      *samples() {
        for (const { name, statistics } of applications) yield { labels: [name], value: statistics.object.monitored };
      },
    },
    {
      name: 'd2_object_subscriptions',
      type: 'gauge',
      help: 'Monitorings of the object now.',
      labels: ['application', 'name'],
      *samples() {
        for (const { name: application, statistics } of applications) {
          for (const [name, { subscriptions }] of statistics.object.objects) {
            yield { labels: [application, name], value: subscriptions.count };
          }
        }
      },
    },
    {
      name: 'd2_object_values_total',
      type: 'counter',
      help: 'Values received of the object: read over REST, or pushed over Comet.',
      labels: ['application', 'name'],
      *samples() {
        for (const { name: application, statistics } of applications) {
          for (const [name, { newValues }] of statistics.object.objects) {
            yield { labels: [application, name], value: newValues.count };
          }
        }
      },
    },
  ];
}

/** Sizes of the tables of names, and events whose name no longer fitted. */
export function nameTables(applications: Applications): readonly Table[] {
  const samples = (of: 'nameCount' | 'foldedCount') =>
    function* (): Generator<Sample> {
      for (const { name, statistics } of applications) {
        for (const kind of NAMED_KINDS) yield { labels: [name, kind], value: statistics[kind][of] };
      }
    };
  return [
    {
      name: 'd2_sidecar_names',
      type: 'gauge',
      help: 'Names with statistics of their own, of which metrics.maxNames is the limit.',
      labels: ['application', 'kind'],
      samples: samples('nameCount'),
    },
    {
      name: 'd2_sidecar_names_folded_total',
      type: 'counter',
      help: 'Events counted under the name (other) although they had one.',
      labels: ['application', 'kind'],
      samples: samples('foldedCount'),
    },
  ];
}
