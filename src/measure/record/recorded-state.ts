/**
 * The whole state of the recorder, for the state file: statistics, sessions, Comet clients, and their counters. Running
 * calls, holds and connections are not part of it.
 *
 * Writing pauses between steps, so the file is not a snapshot of one moment. Each of these is one: the counts of all
 * RPCs with their total (of all SBA methods, of all objects), a timer, a session with its statistics and clients. Later
 * parts of the file may count events that earlier parts miss. No part counts an event that did not happen.
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
  /** By application; undefined when Comet is not read. */
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

  /** For benchmarks, which fill it without traffic. */
  clientsOf(application: string): CometClients | undefined {
    return this.#parts.clientsOf(application);
  }

  /** Must be run to its end. A step takes a millisecond or two at most. */
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

  /** Call it before anything is recorded. Throws for an invalid state; the recorder is unusable then. */
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
    // When Comet is disabled, its logins are parsed and dropped; their sessions end by idleness.
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
