/**
 * The observer that turns exchanges into numbers: which call it was (`classify/`), whose (`sessions/`), how long and how it
 * ended (`metrics/`). The data plane does not know it, and nothing here may hold an exchange longer than until its ending.
 *
 * | Ending | Statistics | Session |
 * |---|---|---|
 * | completed | answered: count, duration, error from status 500 | activity, request; begins one when accepted |
 * | failed | error, no duration | activity, request of a session that is recognised |
 * | cancelled | none; `aborted` in the sidecar's own metrics | the same: the request was made, the client was there |
 * | denied | none | the same |
 *
 * A call is a session's when the server accepted it (status 200 to 399) for the session's user or key, or, whatever its status,
 * when its credentials are ones that were accepted for that session before. So a wrong password neither counts on a user's
 * session nor keeps it alive.
 *
 * A call that brings a login beside a credential that was not accepted before may have been accepted for the login. Such a claim
 * has a session of its own, unverified, and no way to another one (measure/sessions/companions.ts, docs/statistics.md).
 */

import type { TimedCall } from '../../metrics/answer-log.ts';
import type { ApplicationStatistics as GlobalStatistics, Statistics } from '../../metrics/statistics.ts';
import type { Direction } from '../../proxy/exchange/added-time.ts';
import type { Ending, Exchange, ExchangeObserver, ResponseHeadView } from '../../proxy/exchange/exchange.ts';
import type { Call, Classifier } from '../classify/classifier.ts';
import type { Credentials } from '../sessions/credentials.ts';
import type { KnownToken } from '../sessions/known-token.ts';
import type { Session, SessionOrigin } from '../sessions/session.ts';
import type { SessionTable } from '../sessions/session-table.ts';
import { TokenMemory } from '../sessions/token-memory.ts';
import { countBytes, countBytesOfResponse } from './byte-count.ts';
import type { CallObservers } from './call-observer.ts';
import type { CometReader } from './comet/comet-reader.ts';
import type { ExchangeReading } from './comet/exchange-reading.ts';
import { EndedExchange, OF_COMET, OTHER } from './ended-exchange.ts';
import type { OutsidePaths } from './outside-paths.ts';
import type { OwnMetrics } from './own-metrics.ts';

/** What is measured of one application. */
export interface ApplicationStatistics {
  /** As in the configuration; `''` is the root context. */
  readonly name: string;
  readonly statistics: GlobalStatistics;
  readonly sessions: SessionTable;
}

export interface RecorderParts {
  readonly classifier: Classifier;
  readonly credentials: Credentials;
  readonly applications: ReadonlyMap<string, ApplicationStatistics>;
  /** Absent where Comet is not to be read. */
  readonly comet: CometReader | undefined;
  readonly own: OwnMetrics;
  readonly outside: OutsidePaths;
  readonly observers: CallObservers;
}

/** A call on its way. Holds no text of the head: `token` is a hash, the call's name a copy. */
interface CallNote {
  readonly call: Call;
  readonly application: ApplicationStatistics;
  readonly token: KnownToken | undefined;
  /** The session that the credentials were accepted for before. */
  readonly session: Session | undefined;
}

/** Told from undefined, which is left when `onBegin` has failed: then the exchange is not observed at all. */
const NO_CALL = Symbol('no call');

type Note = CallNote | ExchangeReading | typeof NO_CALL;

export class Recorder implements ExchangeObserver {
  readonly applications: ReadonlyMap<string, ApplicationStatistics>;
  readonly own: OwnMetrics;
  /** Requests that passed outside of all applications. */
  readonly outside: OutsidePaths;
  /** Who is told of each call that has ended, beside the statistics. */
  readonly observers: CallObservers;
  #classifier: Classifier;
  readonly #credentials: Credentials;
  readonly #tokens: TokenMemory;
  readonly #comet: CometReader | undefined;

  constructor({ classifier, credentials, applications, comet, own, outside, observers }: RecorderParts) {
    this.#classifier = classifier;
    this.#credentials = credentials;
    this.#tokens = new TokenMemory(credentials);
    this.#comet = comet;
    this.applications = applications;
    this.own = own;
    this.outside = outside;
    this.observers = observers;
  }

  /** Other rules from the next exchange on. Whoever has begun ends by the old ones. */
  useClassifier(classifier: Classifier): void {
    this.#classifier = classifier;
  }

  onBegin(exchange: Exchange): void {
    const { request } = exchange;
    const call = this.#classifier.classify(request.method, request.target);
    const application = call === undefined ? undefined : this.applications.get(call.application);
    if (call === undefined || application === undefined) {
      exchange.note = this.#comet?.begin(exchange) ?? NO_CALL;
      if (this.observers.areOthersWanted && this.observers.areBytesWanted) countBytes(exchange);
      return;
    }
    const token = this.#tokens.tokenOf(request, exchange.client);
    const session =
      token === undefined
        ? undefined
        : (application.sessions.recogniseKnown(token, exchange.beganNs) ??
          this.#recogniseClaim(application, exchange, exchange.beganNs));
    session?.callBegan(exchange.beganNs);
    exchange.note = { call, application, token, session } satisfies CallNote;
    if (this.observers.areBytesWanted) countBytes(exchange);
  }

  onResponse(exchange: Exchange, response: ResponseHeadView): void {
    const note = exchange.note as Note | undefined;
    if (note === undefined || note === NO_CALL || !('onResponse' in note)) return;
    note.onResponse(exchange, response);
    if (this.observers.areOthersWanted && this.observers.areBytesWanted) countBytesOfResponse(exchange);
  }

  onEnd(exchange: Exchange, ending: Ending): void {
    const note = exchange.note as Note | undefined;
    if (note === undefined) return;
    exchange.note = undefined;
    this.own.exchangeEnded(exchange.path, ending.kind, exchange.status);
    if (note === NO_CALL) {
      this.own.exchangeUnclassified();
      if (ending.kind === 'completed') this.outside.add(exchange.request.target);
      if (this.observers.areOthersWanted) this.observers.tell(new EndedExchange(OTHER, exchange, ending, undefined));
      return;
    }
    if ('onEnd' in note) {
      this.own.exchangeOfComet();
      note.onEnd(exchange, ending);
      if (this.observers.areOthersWanted) this.observers.tell(new EndedExchange(OF_COMET, exchange, ending, undefined));
      return;
    }
    this.own.callEnded(note.call.kind, ending.kind);
    const session = this.#sessionAtEnd(note, exchange, ending);
    session?.callEnded(exchange.endedNs);
    count(note.application.statistics, note.call, exchange, ending);
    if (session !== undefined) this.#countOn(session, note, exchange, ending);
    if (this.observers.isWanted) this.observers.tell(new EndedExchange(note.call, exchange, ending, session));
  }

  onAdded(direction: Direction, addedNs: number): void {
    this.own.timeAdded(direction, addedNs);
  }

  #countOn(session: Session, note: CallNote, exchange: Exchange, ending: Ending): void {
    if (counts(note.call, ending)) count(session.statistics, note.call, exchange, ending);
    // Accepted is accepted: that the client did not wait for the rest of the answer brings no session back.
    if (isLogout(note.call) && isAccepted(exchange.status)) note.application.sessions.end(session);
  }

  /**
   * Ends the sessions that are idle or gone, and Comet calls that wait for too long. For a timer of seconds: reads of sessions
   * are exact without it, but what ended sessions monitored, and acknowledged calls, are counted by it.
   */
  sweep(): void {
    this.#comet?.sweep();
    for (const { sessions } of this.applications.values()) sessions.sweep();
  }

  /** Counts what waits to be read, as far as that takes some milliseconds: somebody asks for numbers. */
  catchUp(): void {
    this.#comet?.catchUp();
  }

  /** Reads what waits to be read, and so counts it: before the end. */
  finish(): void {
    this.#comet?.finish();
  }

  /** Frees what the garbage collector does not see. Nothing may be observed or read after it. */
  destroy(): void {
    for (const { statistics } of this.applications.values()) statistics.destroy();
  }

  /** The session that the call belongs to, with the call begun on it; begins one for the first accepted call. */
  #sessionAtEnd(note: CallNote, exchange: Exchange, ending: Ending): Session | undefined {
    const { application, token, session } = note;
    // Also when it has ended since: a call that was running at the logout does not begin the next session.
    if (session !== undefined || token === undefined) return session;
    const { beganNs, endedNs, status } = exchange;
    let found =
      application.sessions.recogniseKnown(token, endedNs) ?? this.#recogniseClaim(application, exchange, endedNs);
    if (found === undefined && ending.kind === 'completed' && isAccepted(status)) {
      found = this.#acceptedSession(note, token, exchange);
    }
    found?.callBegan(beganNs);
    return found;
  }

  /** The session of a call that the server has just accepted, and whose credential was not accepted before. */
  #acceptedSession({ call, application }: CallNote, { token }: KnownToken, exchange: Exchange): Session | undefined {
    const { sessions } = application;
    const { beganNs, endedNs, request, client } = exchange;
    const claim = this.#credentials.claimOf(request);
    const identity = claim?.identity ?? this.#credentials.identify(request, client);
    if (identity === undefined) return undefined;
    const present =
      claim === undefined ? sessions.prove(identity.key, token, endedNs) : sessions.joinClaim(claim, endedNs);
    if (present !== undefined || isLogout(call)) return present;
    const origin: SessionOrigin = {
      userName: identity.userName,
      connectionType: 'REST',
      remoteAddress: client.remoteAddress,
      atNs: endedNs,
      creationNs: endedNs - beganNs,
    };
    return claim === undefined ? sessions.begin(identity.key, token, origin) : sessions.beginClaim(claim, origin);
  }

  /** Only asked where the credential alone leads nowhere, so that calls of known credentials pay nothing for it. */
  #recogniseClaim({ sessions }: ApplicationStatistics, { request }: Exchange, nowNs: number): Session | undefined {
    if (!sessions.hasClaims) return undefined;
    const claim = this.#credentials.claimOf(request);
    return claim && sessions.recognise(claim.token, nowNs);
  }
}

/** Whether the call says anything to statistics; a session's are not even made for one that does not. */
function counts(call: Call, ending: Ending): boolean {
  if (ending.kind === 'cancelled' || ending.kind === 'denied' || call.kind === 'session') return false;
  return call.kind !== 'object' || ending.kind === 'completed';
}

function count(statistics: Statistics, call: Call, exchange: Exchange, ending: Ending): void {
  if (!counts(call, ending)) return;
  const { beganNs, endedNs, status } = exchange;
  if (call.kind === 'object') statistics.object.recordRead(call.name, status);
  else if (!isTimed(call)) return;
  else if (ending.kind === 'failed') statistics[call.kind].recordFailed(call.name);
  else statistics.recordAnswered(call, status, endedNs - beganNs, endedNs);
}

function isTimed(call: Call): call is Call & TimedCall {
  return call.kind === 'rpc' || call.kind === 'sba';
}

function isAccepted(status: number): boolean {
  return status >= 200 && status <= 399;
}

function isLogout(call: Call): boolean {
  return call.kind === 'session' && call.name === 'logout';
}
