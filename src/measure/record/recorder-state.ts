/**
 * The state of the recorder, for the state file: statistics, sessions, Comet clients, their counters; no running calls,
 * holds and connections. Of one moment are: the counts of all names of a kind with their total, a timer, a session with
 * its statistics and clients. Later records may count events that earlier ones miss; none counts an event that did not
 * happen.
 */
import type { Savable, SavedRecord } from '../../state/saved-record.ts';
import type { BayeuxClients } from '../comet/bayeux-clients.ts';
import type { Credentials } from '../sessions/credentials.ts';
import type { Session } from '../sessions/session.ts';
import type { OwnMetrics } from './own-metrics.ts';
import type { RecordedApplication } from './recorded-application.ts';

interface RecorderStateParts {
  readonly credentials: Credentials;
  readonly own: OwnMetrics;
  readonly applications: ReadonlyMap<string, RecordedApplication>;
  /** By application; undefined when Comet is not read. */
  readonly clientsOf: (application: string) => BayeuxClients | undefined;
}

export function createRecorderState({ credentials, own, applications, clientsOf }: RecorderStateParts): Savable {
  return {
    applications: [...applications.keys()],

    /** A step takes a millisecond or two at most. */
    *save() {
      yield { record: 'recorder', secret: credentials.secret, own: own.save(), comet: own.comet.save() };
      for (const { name, statistics, sessions, targets } of applications.values()) {
        const clients = clientsOf(name);
        yield { record: 'application', name, targets: targets.save() };
        yield* statistics.save();
        yield* sessions.save((session: Session) => ({ comet: clients?.save(session) }));
        yield* clients?.saveStrays() ?? [];
      }
    },

    /** Call it before anything is recorded. Rejects for an invalid state; the recorder is unusable then. */
    async load(records) {
      let application: RecordedApplication | undefined;
      for await (const saved of records) {
        const kind = saved.text('record');
        if (kind === 'recorder') {
          credentials.adopt(saved.textOrThrow('secret'));
          own.load(saved.record('own'));
          own.comet.load(saved.record('comet'));
        } else if (kind === 'application') {
          application = applications.get(saved.textOrThrow('name')) ?? saved.refuse('a configured application', 'name');
          if (saved.has('targets')) application.targets.load(saved.records('targets'));
        } else if (application !== undefined) {
          // Undefined when Comet is disabled: its logins are then dropped, and their sessions end by idleness.
          loadInto(application, clientsOf(application.name), kind, saved);
        }
      }
      for (const { statistics } of applications.values()) statistics.restored();
    },
  };
}

function loadInto(
  { statistics, sessions }: RecordedApplication,
  clients: BayeuxClients | undefined,
  kind: string | undefined,
  saved: SavedRecord,
): void {
  if (kind === 'sessions') sessions.load(saved);
  else if (kind === 'comet-client') clients?.loadClient(saved, undefined);
  // Ignores kinds that it does not know, e.g. those of a newer version.
  else if (kind !== 'session') statistics.load(saved);
  else {
    const session = sessions.loadSession(saved);
    if (saved.has('comet')) clients?.load(session, saved.record('comet'));
  }
}
