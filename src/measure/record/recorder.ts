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
 * A call belongs to a session when the server accepted it (status 200 to 399), or when its credentials were accepted for
 * that session before: a wrong password neither counts in a session nor keeps it alive. A credential that came with a
 * login may be wrong: it makes a claim, which gets a separate, unverified session (sessions/companions.ts).
 */

import type { Clock } from '../../base/clock.ts';
import { AddressRate } from '../../limits/address-counts.ts';
import { MemoryBudget } from '../../limits/memory-budget.ts';
import type { CountedCall, Statistics } from '../../metrics/statistics.ts';
import { detached } from '../../protocol/http1/text.ts';
import type {
  Direction,
  Ending,
  Exchange,
  ExchangeObserver,
  RequestHead,
  ResponseHeadView,
} from '../../proxy/exchange/exchange.ts';
import type { Savable, SavedFields, SavedRecord } from '../../state/saved-record.ts';
import { type Call, Classifier } from '../classify/classifier.ts';
import type { CometListener } from '../comet/comet-application.ts';
import { CometMetrics } from '../comet/comet-metrics.ts';
import { CometReader, type ExchangeReading } from '../comet/comet-reader.ts';
import { CLAIMS_PER_ADDRESS } from '../sessions/claim-index.ts';
import { Credentials } from '../sessions/credentials.ts';
import {
  CallObservers,
  countBytes,
  countBytesOfResponse,
  describeEndedExchange,
  type EndedCallName,
  MAX_TRACEPARENT_CHARS,
  OF_COMET,
  OTHER,
} from './call-observer.ts';
import { classifyOutcome } from './call-totals.ts';
import { findSessionAtEnd, isAccepted, isLogout, ObservedCall, recogniseClaim, type Sender } from './observed-call.ts';
import { OwnMetrics } from './own-metrics.ts';
import { RecordedApplication, type RecorderConfig } from './recorded-application.ts';
import { UnclassifiedRequests } from './unclassified-requests.ts';

const NO_CONTENT = 204;

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
  readonly unclassified: UnclassifiedRequests;
  readonly observers = new CallObservers();
  /** The budget for kept bodies and names; other parts use it as well. */
  readonly memory: MemoryBudget;
  /**
   * For the state file: statistics, sessions, Comet clients, their counters; no running calls, holds and connections.
   * Each of these is read at one moment: all counts of a kind with their total; a timer; a session with its statistics
   * and clients. Later records may count events that earlier ones miss; none counts an event that did not happen.
   */
  readonly state: Savable;
  #classifier: Classifier;
  readonly #credentials: Credentials;
  readonly #comet: CometReader | undefined;
  readonly #clock: Clock;

  /**
   * Throws `D2S_ERR_CONFIG` for an unusable rule. `sessions.max` and `metrics.maxNames` apply to each application.
   * `memory`: the budget that all parts share.
   */
  constructor(
    config: RecorderConfig,
    clock: Clock,
    { listener, memory = new MemoryBudget() }: { listener?: CometListener | undefined; memory?: MemoryBudget } = {},
  ) {
    this.#clock = clock;
    this.memory = memory;
    this.#classifier = new Classifier(config);
    this.unclassified = new UnclassifiedRequests(config.applications, clock);
    const credentials = new Credentials(config.sessions.apiKeys, config.sessions.cookie);
    credentials.reconfigure(config.sessions);
    this.#credentials = credentials;
    const claimRate = new AddressRate(clock, CLAIMS_PER_ADDRESS);
    const applications = config.applications.map((name) => new RecordedApplication(name, config, clock, claimRate));
    this.applications = new Map(applications.map((application) => [application.name, application]));
    const metrics = new CometMetrics(clock);
    const tables = applications.map(({ sessions }) => sessions);
    this.own = new OwnMetrics(tables, metrics);
    const forComet = { clock, credentials, metrics, observers: this.observers, listener, memory };
    this.#comet = config.comet.enabled ? new CometReader(config, applications, forComet) : undefined;
    this.state = {
      applications: [...this.applications.keys()],
      save: () => this.#save(),
      load: (records) => this.#load(records),
    };
  }

  /**
   * Prepares a reload; the returned function applies it, from the next exchange on. What needs a restart
   * (`applications`, `metrics.window`, `sessions.cookie`, `comet.enabled`) must be unchanged. Throws as the
   * constructor.
   */
  prepareReload(config: RecorderConfig): () => void {
    const classifier = new Classifier(config);
    const applyToComet = this.#comet?.prepareReload(config);
    return () => {
      this.#classifier = classifier;
      this.#credentials.reconfigure(config.sessions);
      for (const application of this.applications.values()) application.reconfigure(config);
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
    let sender: Sender | undefined;
    if (token !== undefined && known === undefined) {
      const claim = this.#credentials.claimOf(request);
      sender = { claim, identity: claim?.identity ?? this.#credentials.identify(request, exchange.client) };
    }
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
      this.own.counts.unclassified += 1;
      if (ending.kind === 'completed') {
        const { method, durationNs, endedNs } = exchange;
        const isMisplaced = (segments: readonly string[]) => this.#classifier.isMisplaced(method, segments);
        this.unclassified.add(observation.target, isMisplaced, durationNs, endedNs);
      }
      this.#tellOther(OTHER, observation, exchange, ending);
      return;
    }
    if (observation.kind === 'comet') {
      this.own.counts.cometExchanges += 1;
      observation.reading.onEnd(exchange, ending);
      this.#tellOther(OF_COMET, observation, exchange, ending);
      return;
    }
    observation.application.running.delete(observation);
    this.own.callEnded(observation.call.kind, ending.kind);
    const session = findSessionAtEnd(observation, exchange, ending);
    session?.callEnded(exchange.endedNs);
    if (isCounted(observation.call, ending)) {
      countCall(observation.application.statistics, observation.call, exchange, ending);
      if (exchange.traceparent !== undefined)
        addExemplar(observation.application.statistics, observation.call, exchange, this.#clock);
      if (session !== undefined) countCall(session.statistics, observation.call, exchange, ending);
    }
    // A denied request never reached the server.
    if (ending.kind !== 'denied') {
      const isRefusedHere = ending.kind === 'failed' && ending.failure.isOwnShortage;
      if (isRefusedHere) observation.application.totals.counts.refusedHere += 1;
      const outcome = classifyOutcome(ending.kind, exchange.status);
      observation.application.callEnded(observation, session, exchange, outcome);
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

  /** A step takes a millisecond or two at most. */
  *#save(): Generator<SavedFields> {
    const { own } = this;
    yield { record: 'recorder', secret: this.#credentials.secret, own: own.save(), comet: own.comet.save() };
    for (const { name, statistics, sessions, targets } of this.applications.values()) {
      const clients = this.#comet?.clientsOf(name);
      yield { record: 'application', name, targets: targets.save() };
      yield* statistics.save();
      yield* sessions.save((session) => ({ comet: clients?.save(session) }));
      yield* clients?.saveStrays() ?? [];
    }
  }

  /** Call it before anything is recorded. Rejects for an invalid state; the recorder is unusable then. */
  async #load(records: AsyncIterable<SavedRecord>): Promise<void> {
    let application: RecordedApplication | undefined;
    for await (const saved of records) {
      const kind = saved.text('record');
      if (kind === 'recorder') {
        this.#credentials.adopt(saved.textOrThrow('secret'));
        this.own.load(saved.record('own'));
        this.own.comet.load(saved.record('comet'));
      } else if (kind === 'application') {
        const name = saved.textOrThrow('name');
        application = this.applications.get(name) ?? saved.refuse('a configured application', 'name');
        if (saved.has('targets')) application.targets.load(saved.records('targets'));
      } else if (application !== undefined) this.#loadInto(application, kind, saved);
    }
    for (const { statistics } of this.applications.values()) statistics.restored();
  }

  #loadInto({ name, statistics, sessions }: RecordedApplication, kind: string | undefined, saved: SavedRecord): void {
    // Undefined when Comet is disabled: its logins are then dropped, and their sessions end by idleness.
    const clients = this.#comet?.clientsOf(name);
    if (kind === 'sessions') sessions.load(saved);
    else if (kind === 'comet-client') clients?.loadClient(saved, undefined);
    // Ignores kinds that it does not know, e.g. those of a newer version.
    else if (kind !== 'session') statistics.load(saved);
    else {
      const session = sessions.loadSession(saved);
      if (saved.has('comet')) clients?.load(session, saved.record('comet'));
    }
  }

  onAdded(direction: Direction, addedNs: number): void {
    this.own.added[direction].add(addedNs);
  }

  /** Ends what is expired. Call it from a timer of seconds: monitorings and acknowledged calls depend on it. */
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
}

function bytesOf(observation: Observation): number {
  if (observation.kind === 'call') return RUNNING_BYTES + observation.call.name.length;
  return observation.kind === 'other' ? RUNNING_BYTES + observation.target.length : RUNNING_BYTES;
}

/** Whether the call changes statistics. A session creates its statistics only for such a call. */
function isCounted(call: Call, ending: Ending): call is Call & CountedCall {
  if (ending.kind === 'cancelled' || ending.kind === 'denied' || call.kind === 'session') return false;
  return call.kind !== 'object' || ending.kind === 'completed';
}

function countCall(statistics: Statistics, call: CountedCall, exchange: Exchange, ending: Ending): void {
  const { durationNs, endedNs, status } = exchange;
  if (ending.kind !== 'failed') {
    // A HEAD, a 204, a redirect and an empty answer bring no value.
    const hasContent = status >= 200 && status <= 299 && status !== NO_CONTENT;
    if (call.kind !== 'object' || (hasContent && exchange.method !== 'HEAD' && !exchange.isEmpty))
      statistics.recordAnswered(call, status, durationNs, endedNs);
    else statistics.object.recordEmpty(call.name, status, endedNs);
  } else if (call.kind !== 'object') statistics[call.kind].recordFailed(call.name);
}

function addExemplar(statistics: Statistics, { kind, name }: CountedCall, exchange: Exchange, clock: Clock): void {
  const { traceparent = '', durationNs } = exchange;
  if (kind === 'object') return;
  const [, traceId = '', spanId = ''] = traceparent.split('-');
  statistics[kind].addExemplar(name, durationNs, { traceId, spanId, atEpochMs: clock.epochMs() });
}
