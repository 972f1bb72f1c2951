/**
 * All that the recorder knows, as it is written to the state file and taken up again: statistics, sessions, Comet clients,
 * and what is counted beside them. What runs at the moment (calls, holds, connections) is not part of it.
 *
 * Written with pauses in between, so not all at one moment. At one moment are: the counts of all RPCs with their total (of all
 * SBA methods, of all objects), each timer, each session with its statistics and clients. What comes later in the file may
 * have counted what comes earlier has not; nothing has counted what did not happen.
 */
import type { ArchiveReader } from '../../state/archive/archive-reader.ts';
import type { ArchiveWriter } from '../../state/archive/archive-writer.ts';
import { type Credentials, SECRET_BYTES } from '../sessions/credentials.ts';
import type { CometClients } from './comet/comet-clients.ts';
import type { CometMetrics } from './comet/comet-metrics.ts';
import { loadClient, loadLogin } from './comet/saved-login.ts';
import type { OwnMetrics } from './own-metrics.ts';
import type { ApplicationStatistics } from './recorder.ts';

export interface RecordedStateParts {
  readonly credentials: Credentials;
  readonly own: OwnMetrics;
  readonly cometMetrics: CometMetrics;
  readonly applications: ReadonlyMap<string, ApplicationStatistics>;
  /** By application; undefined where Comet is not read. */
  readonly clientsOf: (application: string) => CometClients | undefined;
}

export class RecordedState {
  readonly #parts: RecordedStateParts;

  constructor(parts: RecordedStateParts) {
    this.#parts = parts;
  }

  /** Context paths, e.g. `['smartWeb']`. */
  get applications(): readonly string[] {
    return [...this.#parts.applications.keys()];
  }

  /** For what is filled without traffic. */
  clientsOf(application: string): CometClients | undefined {
    return this.#parts.clientsOf(application);
  }

  /** To be consumed to its end. What comes between two steps takes a millisecond or two at most. */
  *save(out: ArchiveWriter): Generator<void> {
    const { credentials, own, cometMetrics, applications } = this.#parts;
    out.bytes(credentials.secret);
    own.save(out);
    cometMetrics.save(out);
    yield;
    for (const application of applications.values()) {
      out.flag(true);
      yield* this.#saveApplication(out, application);
    }
    out.flag(false);
  }

  *#saveApplication(out: ArchiveWriter, { name, statistics, sessions }: ApplicationStatistics): Generator<void> {
    const clients = this.#parts.clientsOf(name);
    out.text(name);
    yield* statistics.save(out);
    yield* sessions.save(out, (session) => (clients === undefined ? out.flag(false) : clients.save(session, out)));
    if (clients === undefined) out.flag(false);
    else yield* clients.saveStrays(out);
  }

  /** Only into a recorder that has recorded nothing. Throws what is not a state; the recorder is of no use then. */
  load(input: ArchiveReader): void {
    const { credentials, own, cometMetrics, applications } = this.#parts;
    credentials.adopt(Buffer.from(input.bytes(SECRET_BYTES)));
    own.load(input);
    cometMetrics.load(input);
    while (input.flag()) {
      const application = applications.get(input.text()) ?? input.refuse('an application of the configuration');
      this.#loadApplication(input, application);
    }
  }

  #loadApplication(input: ArchiveReader, { name, statistics, sessions }: ApplicationStatistics): void {
    // Without Comet, its logins are read and left: their sessions end when they have been idle for long enough.
    const clients = this.#parts.clientsOf(name);
    statistics.load(input);
    sessions.load(input, (session) => {
      const login = input.flag() ? loadLogin(input) : undefined;
      if (login !== undefined) clients?.restore(session, login);
    });
    while (input.flag()) {
      const stray = loadClient(input);
      clients?.restoreClient(stray, undefined);
    }
  }
}
