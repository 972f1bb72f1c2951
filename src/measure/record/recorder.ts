/**
 * This folder turns exchanges into numbers. `Recorder` is the observer of the data plane: it determines the call
 * (`classify/`), its session (`sessions/`), its duration and its ending (`metrics/`). The data plane must not import
 * it, and this folder must not hold an exchange beyond its ending.
 *
 * | Ending | Statistics | Session |
 * |---|---|---|
 * | completed | answered: count, duration, error from status 500 | activity, request; begins one when accepted |
 * | failed | error, no duration | activity, request of a session that is recognised |
 * | cancelled | none; `aborted` in the sidecar's own metrics | the same: the client was active |
 * | denied | none | the same |
 *
 * A call belongs to a session when the server accepted it (status 200 to 399) for the session's user or key. With any
 * other status it does when its credentials were accepted for that session before. So a wrong password neither counts
 * in a user's session nor keeps it alive.
 *
 * The server may have accepted a call for its login and not for the credential that came with it. If that credential
 * was not accepted before, the call makes a claim. A claim gets a separate, unverified session and no access to another
 * one (measure/sessions/companions.ts, docs/statistics.md).
 */

import { type Clock, NS_PER_MS } from '../../base/clock.ts';
import type { Config } from '../../config/config.ts';
import type { MemoryBudget } from '../../limits/memory-budget.ts';
import type { CountedCall, Statistics } from '../../metrics/statistics.ts';
import { detached } from '../../protocol/http1/text.ts';
import type { Direction } from '../../proxy/exchange/added-time.ts';
import type {
  Ending,
  Exchange,
  ExchangeObserver,
  RequestHead,
  ResponseHeadView,
} from '../../proxy/exchange/exchange.ts';
import { type Call, Classifier, type ClassifierConfig } from '../classify/classifier.ts';
import type { CometReader } from '../comet/comet-reader.ts';
import type { ExchangeReading } from '../comet/exchange-reading.ts';
import type { Claim, Credentials, Identity } from '../sessions/credentials.ts';
import type { Session, SessionStart } from '../sessions/session.ts';
import type { SessionTable } from '../sessions/session-table.ts';
import { countBytes, countBytesOfResponse } from './byte-count.ts';
import { type CallObservers, MAX_TRACEPARENT_CHARS } from './call-observer.ts';
import type { SlowOutcome } from './call-totals.ts';
import { describeEndedExchange, type EndedCallName, OF_COMET, OTHER } from './ended-exchange.ts';
import type { OutsidePaths } from './outside-paths.ts';
import type { OwnMetrics } from './own-metrics.ts';
import type { RecordedApplication } from './recorded-application.ts';
import type { RecorderState } from './recorder-state.ts';
import type { RunningCall } from './running-calls.ts';
import type { UnclassifiedPaths } from './unclassified-paths.ts';

const NO_CONTENT = 204;

export type RecorderConfig = ClassifierConfig &
  Pick<Config, 'calls' | 'comet' | 'metrics' | 'sessions'> & { readonly otlp?: Config['otlp'] };

export interface RecorderParts {
  readonly classifier: Classifier;
  readonly credentials: Credentials;
  readonly applications: ReadonlyMap<string, RecordedApplication>;
  /** Undefined when Comet is not to be read. */
  readonly comet: CometReader | undefined;
  readonly own: OwnMetrics;
  readonly outside: OutsidePaths;
  readonly unclassified: UnclassifiedPaths;
  readonly observers: CallObservers;
  readonly memory: MemoryBudget;
  readonly state: RecorderState;
  readonly clock: Clock;
}

/** Who sent a request, if its credential was not accepted before: what may begin a session when the server accepts it. */
interface Sender {
  readonly claim: Claim | undefined;
  readonly identity: Identity | undefined;
}

/** A running call. Holds no text of the head: `token` is a hash, the call's name a copy. */
class ObservedCall implements RunningCall {
  readonly kind = 'call';
  readonly connectionType = 'REST';
  before: RunningCall | undefined = undefined;
  after: RunningCall | undefined = undefined;
  threadDump: string | undefined = undefined;
  readonly call: Call;
  readonly application: RecordedApplication;
  readonly token: string | undefined;
  /** The session that these credentials were accepted for before. */
  readonly session: Session | undefined;
  readonly sender: Sender | undefined;
  /** A copy; undefined unless an observer wants it. */
  readonly traceparent: string | undefined;
  readonly remoteAddress: string;
  readonly #exchange: Exchange;
  readonly beganNs: number;
  /** The user that the server names in its response (`sessions.userField`). */
  userByServer: Identity | undefined = undefined;

  constructor(
    parts: Pick<ObservedCall, 'call' | 'application' | 'token' | 'session' | 'sender' | 'traceparent'>,
    exchange: Exchange,
  ) {
    const { client, beganNs } = exchange;
    this.#exchange = exchange;
    this.call = parts.call;
    this.application = parts.application;
    this.token = parts.token;
    this.session = parts.session;
    this.sender = parts.sender;
    this.traceparent = parts.traceparent;
    this.remoteAddress = client.remoteAddress;
    this.beganNs = beganNs;
  }

  clientWaitAt(nowNs: number): number {
    return this.#exchange.clientWaitAt(nowNs);
  }
}

/** What the recorder keeps about a running exchange. Undefined if `onBegin` failed: nothing is recorded then. */
type Observation =
  | ObservedCall
  | { readonly kind: 'comet'; readonly reading: ExchangeReading; readonly traceparent: string | undefined }
  /** `target`: a copy of its beginning. */
  | { readonly kind: 'other'; readonly target: string; readonly traceparent: string | undefined };

/** No more of a target is read when the exchange has ended. */
const MAX_TARGET_CHARS = 2_048;
/** Charged for each running request, besides the text that it keeps. */
const RUNNING_BYTES = 1_024;

export class Recorder implements ExchangeObserver<Observation> {
  readonly applications: ReadonlyMap<string, RecordedApplication>;
  readonly own: OwnMetrics;
  readonly outside: OutsidePaths;
  readonly unclassified: UnclassifiedPaths;
  readonly observers: CallObservers;
  /** The budget for kept bodies and names; other parts use it as well. */
  readonly memory: MemoryBudget;
  /** What the state file keeps. */
  readonly state: RecorderState;
  #classifier: Classifier;
  readonly #credentials: Credentials;
  readonly #comet: CometReader | undefined;
  readonly #clock: Clock;

  constructor(parts: RecorderParts) {
    this.#classifier = parts.classifier;
    this.#credentials = parts.credentials;
    this.#comet = parts.comet;
    this.applications = parts.applications;
    this.own = parts.own;
    this.outside = parts.outside;
    this.unclassified = parts.unclassified;
    this.observers = parts.observers;
    this.memory = parts.memory;
    this.state = parts.state;
    this.#clock = parts.clock;
  }

  /**
   * Prepares a reload without changing anything; the returned function applies it, from the next exchange on. Counters,
   * sessions and names stay. `applications`, `metrics.window`, `sessions.cookie` and `comet.enabled` must be unchanged.
   * Throws `D2S_ERR_CONFIG` for an unusable rule.
   */
  prepareReload(config: RecorderConfig): () => void {
    const classifier = new Classifier(config);
    const applyToComet = this.#comet?.prepareReload(config);
    return () => {
      this.#classifier = classifier;
      this.#credentials.reconfigure(config.sessions);
      for (const { statistics, sessions, slowest, totals } of this.applications.values()) {
        slowest.max = config.calls.slowest;
        statistics.limitNames(config.metrics);
        setLateLimit({ statistics, totals }, config.calls);
        sessions.reconfigure(config.sessions);
      }
      applyToComet?.();
    };
  }

  onBegin(exchange: Exchange<Observation>, request: RequestHead): void {
    const call = this.#classifier.classify(request.method, request.target);
    const application = call === undefined ? undefined : this.applications.get(call.application);
    if (call === undefined || application === undefined) {
      // A request to the Comet endpoint is not a call. `Conversation` decides which of its messages are calls; a held
      // `/meta/connect` never is.
      const reading = this.#comet?.begin(exchange, request);
      const traceparent = this.#traceparentOf(request);
      exchange.observation =
        reading === undefined
          ? { kind: 'other', target: detached(request.target.slice(0, MAX_TARGET_CHARS)), traceparent }
          : { kind: 'comet', reading, traceparent };
      this.memory.takeAnyway('running', bytesOf(exchange.observation));
      if (this.observers.areOthersWanted && this.observers.areBytesWanted) countBytes(exchange);
      return;
    }
    const { sessions } = application;
    const token = this.#credentials.tokenOf(request, exchange.client, sessions);
    const known = token === undefined ? undefined : sessions.recognise(token, exchange.beganNs);
    // Only for a new credential, so that known credentials cost nothing extra.
    const sender = token === undefined || known !== undefined ? undefined : this.#senderOf(request, exchange);
    const session = known ?? recogniseClaim(sessions, sender?.claim, exchange.beganNs);
    session?.callBegan(exchange.beganNs);
    const traceparent = this.#traceparentOf(request);
    const observation = new ObservedCall({ call, application, token, session, sender, traceparent }, exchange);
    exchange.observation = observation;
    this.memory.takeAnyway('running', bytesOf(observation));
    application.running.add(observation);
    if (this.#credentials.readsResponses) exchange.wantsResponse = true;
    const { tracer } = this.observers;
    if (tracer !== undefined) exchange.traceparent = tracer.traceparentFor(request.field('traceparent'));
    if (this.observers.areBytesWanted) countBytes(exchange);
  }

  onResponse(exchange: Exchange<Observation>, response: ResponseHeadView): void {
    const { observation } = exchange;
    if (observation?.kind === 'call' && isAccepted(response.status))
      observation.userByServer = this.#credentials.userIn(response);
    if (observation?.kind !== 'comet') return;
    observation.reading.onResponse(exchange, response);
    if (this.observers.areOthersWanted && this.observers.areBytesWanted) countBytesOfResponse(exchange);
  }

  onEnd(exchange: Exchange<Observation>, ending: Ending): void {
    const { observation } = exchange;
    if (observation === undefined) return;
    exchange.observation = undefined;
    this.memory.giveBack('running', bytesOf(observation));
    this.own.exchangeEnded(ending.kind, exchange.status);
    if (observation.kind === 'other') {
      this.own.exchangeUnclassified();
      if (ending.kind === 'completed') this.#countUnclassified(observation.target, exchange);
      this.#tellOther(OTHER, observation, exchange, ending);
      return;
    }
    if (observation.kind === 'comet') {
      this.own.exchangeOfComet();
      observation.reading.onEnd(exchange, ending);
      this.#tellOther(OF_COMET, observation, exchange, ending);
      return;
    }
    observation.application.running.remove(observation);
    this.own.callEnded(observation.call.kind, ending.kind);
    const session = this.#sessionAtEnd(observation, exchange, ending);
    session?.callEnded(exchange.endedNs);
    if (isCounted(observation.call, ending)) {
      countCall(observation.application.statistics, observation.call, exchange, ending);
      if (exchange.traceparent !== undefined)
        addExemplar(observation.application.statistics, observation.call, exchange, this.#clock);
      if (session !== undefined) countCall(session.statistics, observation.call, exchange, ending);
    }
    const outcome = toSlowOutcome(ending, exchange.status);
    if (outcome !== undefined) {
      const { totals, slowest } = observation.application;
      totals.ended(observation.call.kind, outcome, exchange);
      slowest.add(observation, session, exchange, outcome);
    }
    // For any ending: an accepted logout ends the session even if the client did not wait for the whole answer.
    if (session !== undefined && isLogout(observation.call) && isAccepted(exchange.status)) {
      observation.application.sessions.end(session);
    }
    if (this.observers.isWanted)
      this.observers.tell(describeEndedExchange(observation.call, observation.traceparent, exchange, ending, session));
  }

  #tellOther(name: EndedCallName, { traceparent }: Observation, exchange: Exchange, ending: Ending): void {
    if (this.observers.areOthersWanted) {
      this.observers.tell(describeEndedExchange(name, traceparent, exchange, ending, undefined));
    }
  }

  /** A copy for observers of ended calls; undefined if none wants it. */
  #traceparentOf(request: RequestHead): string | undefined {
    const value = this.observers.isWanted ? request.field('traceparent') : undefined;
    return value === undefined || value.length > MAX_TRACEPARENT_CHARS ? undefined : detached(value);
  }

  #senderOf(request: RequestHead, { client }: Exchange): Sender {
    const claim = this.#credentials.claimOf(request);
    return { claim, identity: claim?.identity ?? this.#credentials.identify(request, client) };
  }

  /** Records an exchange that is neither a call nor Comet. */
  #countUnclassified(target: string, { method, durationNs, endedNs }: Exchange): void {
    const isMisplaced = (segments: readonly string[]) => this.#classifier.isMisplaced(method, segments);
    const isBelow = this.outside.add(target, isMisplaced);
    this.unclassified.add(target, isBelow, durationNs, endedNs);
  }

  onAdded(direction: Direction, addedNs: number): void {
    this.own.timeAdded(direction, addedNs);
  }

  /**
   * Ends expired sessions and expired Comet calls. Call it from a timer of seconds. Reads of sessions are exact without
   * it, but the numbers of monitorings and of acknowledged calls depend on it.
   */
  sweep(): void {
    this.#comet?.sweep();
    for (const { sessions } of this.applications.values()) sessions.sweep();
  }

  /** Reads waiting Comet traffic for some milliseconds at most. Call it before numbers are read. */
  catchUp(): void {
    this.#comet?.catchUp();
  }

  /** Reads, and so counts, all waiting Comet traffic. Call it at shutdown. */
  finish(): void {
    this.#comet?.finish();
  }

  /** The session of the call, after its `callBegan`. The first accepted call begins one. */
  #sessionAtEnd(observation: ObservedCall, exchange: Exchange, ending: Ending): Session | undefined {
    const { application, token, session, sender, userByServer } = observation;
    if (userByServer !== undefined && ending.kind === 'completed') {
      return this.#sessionByServer(observation, userByServer, exchange);
    }
    // Even if the session has ended: a call that was running during the logout must not begin a new one.
    if (session !== undefined || token === undefined) return session;
    const { beganNs, endedNs, status } = exchange;
    const { sessions } = application;
    let found = sessions.recognise(token, endedNs) ?? recogniseClaim(sessions, sender?.claim, endedNs);
    if (found === undefined && ending.kind === 'completed' && isAccepted(status)) {
      found = acceptedSession(observation, token, exchange);
    }
    found?.callBegan(beganNs);
    return found;
  }

  /** The session of the user whom the server names in an accepted response, after its `callBegan`. */
  #sessionByServer(observation: ObservedCall, user: Identity, exchange: Exchange): Session | undefined {
    const { sessions } = observation.application;
    const { beganNs, endedNs, durationNs, client } = exchange;
    if (observation.session !== undefined) {
      sessions.name(observation.session, user.userName, 'verified');
      return observation.session;
    }
    // A credential that came with a login may be wrong, so it must not identify the user's session later.
    const isAlone = observation.token !== undefined && observation.sender?.claim === undefined;
    const token = isAlone ? observation.token : user.key;
    const start: SessionStart = {
      userName: user.userName,
      connectionType: 'REST',
      remoteAddress: client.remoteAddress,
      atNs: endedNs,
      creationNs: durationNs,
    };
    const present = sessions.join(user.key, token, endedNs);
    const session = present ?? (isLogout(observation.call) ? undefined : sessions.begin(user.key, token, start));
    session?.callBegan(beganNs);
    return session;
  }
}

/** The session of a just accepted call whose credential was not accepted before. */
function acceptedSession(
  { call, application, sender }: ObservedCall,
  token: string,
  exchange: Exchange,
): Session | undefined {
  const { sessions } = application;
  const { endedNs, durationNs, client } = exchange;
  if (sender?.identity === undefined) return undefined;
  const { claim, identity } = sender;
  const present =
    claim === undefined ? sessions.joinVerified(identity.key, token, endedNs) : sessions.joinClaim(claim, endedNs);
  if (present !== undefined || isLogout(call)) return present;
  const start: SessionStart = {
    userName: identity.userName,
    connectionType: 'REST',
    remoteAddress: client.remoteAddress,
    atNs: endedNs,
    creationNs: durationNs,
  };
  return claim === undefined ? sessions.begin(identity.key, token, start) : sessions.beginClaim(claim, start);
}

function recogniseClaim(sessions: SessionTable, claim: Claim | undefined, nowNs: number): Session | undefined {
  return claim !== undefined && sessions.hasClaims ? sessions.recognise(claim.token, nowNs) : undefined;
}

/** What an observation keeps. */
function bytesOf(observation: Observation): number {
  if (observation.kind === 'call') return RUNNING_BYTES + observation.call.name.length;
  return observation.kind === 'other' ? RUNNING_BYTES + observation.target.length : RUNNING_BYTES;
}

/** `calls.clientTimeout`: a later answer counts as late. */
export function setLateLimit(
  { statistics: { rpc, sba }, totals }: Pick<RecordedApplication, 'statistics' | 'totals'>,
  calls: Config['calls'],
): void {
  const afterNs = calls.clientTimeoutMs === 0 ? Number.POSITIVE_INFINITY : calls.clientTimeoutMs * NS_PER_MS;
  rpc.lateAfterNs = afterNs;
  sba.lateAfterNs = afterNs;
  totals.lateAfterNs = afterNs;
}

/** Whether the call changes statistics. A session creates its statistics only for such a call. */
function isCounted(call: Call, ending: Ending): call is Call & CountedCall {
  if (ending.kind === 'cancelled' || ending.kind === 'denied' || call.kind === 'session') return false;
  return call.kind !== 'object' || ending.kind === 'completed';
}

function countCall(statistics: Statistics, call: CountedCall, exchange: Exchange, ending: Ending): void {
  const { durationNs, endedNs, status } = exchange;
  if (ending.kind !== 'failed') {
    if (call.kind !== 'object' || hasValue(exchange)) statistics.recordAnswered(call, status, durationNs, endedNs);
    else statistics.object.recordEmpty(call.name, status, endedNs);
  } else if (call.kind !== 'object') statistics[call.kind].recordFailed(call.name);
}

/** Whether a read has brought a value. A HEAD, a 204 and a redirect are calls, but bring none. */
function hasValue({ method, status, isEmpty }: Exchange): boolean {
  return method !== 'HEAD' && status >= 200 && status <= 299 && status !== NO_CONTENT && !isEmpty;
}

/** Adds the call's trace to its histogram as an exemplar. */
function addExemplar(statistics: Statistics, { kind, name }: CountedCall, exchange: Exchange, clock: Clock): void {
  const { traceparent = '', durationNs } = exchange;
  if (kind === 'object') return;
  const [, traceId = '', spanId = ''] = traceparent.split('-');
  statistics[kind].addExemplar(name, durationNs, { traceId, spanId, atEpochMs: clock.epochMs() });
}

/** Undefined for a request that never reached the server. */
function toSlowOutcome({ kind }: Ending, status: number): SlowOutcome | undefined {
  if (kind === 'denied') return undefined;
  if (kind === 'failed') return 'unanswered';
  if (kind === 'cancelled') return 'aborted';
  if (status >= 500) return 'error';
  return status >= 400 ? 'client_error' : 'ok';
}

function isAccepted(status: number): boolean {
  return status >= 200 && status <= 399;
}

function isLogout(call: Call): boolean {
  return call.kind === 'session' && call.name === 'logout';
}
