/**
 * The Bayeux clients of one application and their logins: which session they belong to, what each of them monitors and
 * waits for, and what happens when a client, its connections or its session end.
 *
 * | Event | Client | Session |
 * |---|---|---|
 * | `/meta/disconnect`, 402 | ends | after its last client: ends without a cookie, is gone with one |
 * | last connection gone | ends after `sessions.cometGone` unless it is back | gone when no client has a connection |
 * | logout, idle, gone for too long | all its clients end | ends |
 */

import QuickLRU from 'quick-lru';
import { type Clock, NS_PER_MS, NS_PER_S } from '../../base/clock.ts';
import type { Config } from '../../config/config.ts';
import type { MemoryBudget } from '../../limits/memory-budget.ts';
import { isOwnShortage } from '../../proxy/exchange/upstream-failure.ts';
import type { SavedFields, SavedRecord } from '../../state/saved-record.ts';
import type { CallObservers } from '../record/call-observer.ts';
import { classifyOutcome } from '../record/call-totals.ts';
import type { RecordedApplication } from '../record/recorded-application.ts';
import type { Session } from '../sessions/session.ts';
import { BayeuxClient, type CallResult, describeEndedCall, type PendingCall, PendingCalls } from './bayeux-client.ts';
import type { CometMetrics } from './comet-metrics.ts';

/** A client that is not back on another WebSocket by then has left. */
const LEFT_AFTER_NS = 10 * NS_PER_S;

/** What all applications share. */
export interface ClientServices {
  readonly clock: Clock;
  readonly metrics: CometMetrics;
  readonly observers: CallObservers;
  /** The budget for kept bodies and messages, and for the names of monitored objects and of pending calls. */
  readonly memory: MemoryBudget;
}

export interface BayeuxClientsParts extends ClientServices {
  readonly application: RecordedApplication;
  readonly config: Pick<Config, 'comet'> & { readonly sessions: Pick<Config['sessions'], 'cometGoneMs' | 'max'> };
}

interface Login {
  readonly session: Session;
  readonly clients: Set<BayeuxClient>;
  /** Whether a cookie identifies the login. It outlives the clients. */
  readonly hasCookie: boolean;
  /** When its last client lost its connection; infinity while one has a connection, and before the first client. */
  goneSinceNs: number;
}

/** Why a client ended. A client that has `left` is not adopted as one from before the sidecar's start. */
type Leaving = 'left' | 'idle';

/** Highest expected average of tabs per login. */
const CLIENTS_PER_SESSION = 4;
/** Ended clients that are kept for sure; the cache may hold twice as many. */
const REMEMBERED_ENDS = 8_192;

/** Estimated memory of a monitoring, without its texts. */
const MONITORING_BYTES = 100;

const UNANSWERED = {
  timedOut: { kind: 'failed', code: 'D2S_ERR_UPSTREAM_TIMEOUT' },
  abandoned: { kind: 'aborted' },
} as const;

export class BayeuxClients {
  readonly #byToken = new Map<string, BayeuxClient>();
  readonly #logins = new Map<Session, Login>();
  /** Logins whose `goneSinceNs` is out of date. `sweep` computes it, once for many events: it looks at all clients. */
  readonly #unsettled = new Set<Login>();
  readonly #ended = new QuickLRU<string, Leaving>({ maxSize: REMEMBERED_ENDS });
  #parts: BayeuxClientsParts;

  constructor(parts: BayeuxClientsParts) {
    this.#parts = parts;
  }

  /** Changes times and limits. Existing clients stay, and keep their limit of pending calls. */
  reconfigure(config: BayeuxClientsParts['config']): void {
    this.#parts = { ...this.#parts, config };
  }

  /** The client with that token. A new one is not kept until the server's answer confirms it (`know`). */
  findOrCreate(token: string, atNs: number): BayeuxClient {
    return this.#byToken.get(token) ?? this.#create(token, atNs);
  }

  #create(token: string, atNs: number): BayeuxClient {
    const { config, memory, application } = this.#parts;
    return new BayeuxClient(token, new PendingCalls(config.comet.maxPendingCalls, memory, application.running), atNs);
  }

  isKnown(token: string): boolean {
    return this.#byToken.has(token);
  }

  /** Why the client with that token ended, if it ended recently. */
  endingOf(token: string): Leaving | undefined {
    return this.#ended.get(token);
  }

  /** Keeps a client that the server knows, with its session. False if the table is full; that is counted. */
  know(client: BayeuxClient, session: Session | undefined, hasCookie: boolean): boolean {
    if (client.isKnown) return true;
    if (this.#byToken.size >= this.#parts.config.sessions.max * CLIENTS_PER_SESSION) {
      this.#parts.metrics.untracked.clients += 1;
      return false;
    }
    client.isKnown = true;
    client.session = session;
    this.#byToken.set(client.token, client);
    if (session !== undefined) {
      const login = this.login(session, hasCookie);
      login.clients.add(client);
      this.#unsettled.add(login);
    }
    return true;
  }

  /** The login of a Comet session, created when missing. When the session ends, so do the login's clients. */
  login(session: Session, hasCookie: boolean): Login {
    const present = this.#logins.get(session);
    if (present !== undefined) return present;
    const login: Login = { session, clients: new Set(), hasCookie, goneSinceNs: Number.POSITIVE_INFINITY };
    this.#logins.set(session, login);
    session.whenEnded(() => {
      this.#logins.delete(session);
      this.#unsettled.delete(login);
      for (const client of login.clients) this.#remove(client, 'idle');
      login.clients.clear();
    });
    return login;
  }

  connected(client: BayeuxClient): void {
    client.connections += 1;
    client.goneSinceNs = Number.POSITIVE_INFINITY;
    const login = this.#loginOf(client);
    if (login !== undefined) this.#setGone(login, Number.POSITIVE_INFINITY);
  }

  disconnected(client: BayeuxClient, atNs: number): void {
    client.connections -= 1;
    if (client.connections > 0) return;
    client.goneSinceNs = atNs;
    const login = this.#loginOf(client);
    if (login !== undefined) this.#unsettled.add(login);
  }

  /** The client has left, or the server no longer knows it. */
  end(client: BayeuxClient): void {
    if (!this.#remove(client, 'left')) return;
    const login = this.#loginOf(client);
    if (login?.clients.has(client) !== true) return;
    const isLast = login.clients.size === 1;
    if (isLast && this.#unsettled.delete(login)) this.#settle(login);
    login.clients.delete(client);
    if (!isLast) this.#unsettled.add(login);
    else if (!login.hasCookie) this.#parts.application.sessions.end(login.session);
    // A login that was already gone keeps its earlier moment.
    else if (login.goneSinceNs === Number.POSITIVE_INFINITY) this.#setGone(login, this.#parts.clock.nowNs());
  }

  /** Begins a monitoring of `name`, once for each `key`: the requested channel or name. */
  subscribe(client: BayeuxClient, key: string, name: string): void {
    if (client.monitorings.has(key)) return;
    const { config, memory } = this.#parts;
    const isFull = client.monitorings.size >= config.comet.maxSubscriptions;
    if (isFull || !memory.take('names', monitoringBytes(key, name))) {
      this.#parts.metrics.untracked.subscriptions += 1;
      return;
    }
    client.monitorings.set(key, name);
    this.#parts.application.statistics.object.subscribe(name);
    client.session?.statistics.object.subscribe(name);
  }

  unsubscribe(client: BayeuxClient, key: string): void {
    const name = client.monitorings.get(key);
    if (name === undefined) return;
    client.monitorings.delete(key);
    this.#unsubscribe(client, key, name);
  }

  /** A value was delivered; `client` is undefined if the receiver is unknown. */
  received(client: BayeuxClient | undefined, name: string): void {
    this.#parts.application.statistics.object.recordValue(name);
    client?.session?.statistics.object.recordValue(name);
  }

  /** Counts a call that ended at `atNs`, and that is no longer among the client's pending calls. */
  callEnded(client: BayeuxClient, pending: PendingCall, result: CallResult, atNs: number): void {
    const { beganNs, session: atBegin } = pending;
    const session = atBegin ?? client.session;
    if (atBegin === undefined) session?.callBegan(beganNs);
    session?.callEnded(atNs);
    this.#count(pending, session, result, atNs);
    const { observers, application } = this.#parts;
    const ended = describeEndedCall(pending, result, atNs, session);
    const shown = classifyOutcome(result.kind, ended.status);
    if (result.kind === 'failed' && isOwnShortage(result.code)) application.totals.counts.refusedHere += 1;
    // A refusal over Comet is an error, as in the statistics.
    application.callEnded(pending, session, ended, result.kind === 'refused' ? 'error' : shown, shown);
    if (observers.isWanted) observers.tell(ended);
  }

  #count({ call, beganNs }: PendingCall, session: Session | undefined, result: CallResult, atNs: number): void {
    if (result.kind === 'aborted') return;
    for (const statistics of [this.#parts.application.statistics, session?.statistics]) {
      const calls = statistics?.[call.kind];
      if (result.kind === 'failed') calls?.recordFailed(call.name);
      else if (result.kind === 'refused') calls?.recordRefused(call.name, atNs - beganNs);
      else calls?.recordAnswered(call.name, result.status, atNs - beganNs);
    }
  }

  /** The login of `session` and its clients, if it has one. Synchronous, so all is of one moment. */
  save(session: Session): SavedFields | undefined {
    const login = this.#logins.get(session);
    if (login === undefined) return undefined;
    if (this.#unsettled.delete(login)) this.#settle(login);
    const { hasCookie, goneSinceNs, clients } = login;
    return { hasCookie, goneSinceNs, clients: Array.from(clients, (client) => client.save()) };
  }

  *saveStrays(): Generator<SavedFields> {
    for (const client of this.#byToken.values()) {
      if (client.session === undefined) yield { record: 'comet-client', ...client.save() };
    }
  }

  /** Restores a saved login. Its clients have no connection yet; their monitorings continue. */
  load(session: Session, saved: SavedRecord): void {
    const login = this.login(session, saved.flag('hasCookie'));
    login.goneSinceNs = saved.momentIfAny('goneSinceNs');
    for (const client of saved.records('clients')) login.clients.add(this.loadClient(client, session));
    if (login.clients.size > 0) this.#settle(login);
  }

  loadClient(saved: SavedRecord, session: Session | undefined): BayeuxClient {
    // For a client that was connected: the moment of saving.
    const goneSinceNs = saved.has('goneSinceNs') ? saved.moment('goneSinceNs') : saved.savedAtNs;
    const client = this.#create(saved.textOrThrow('token'), goneSinceNs);
    client.isKnown = true;
    client.session = session;
    client.couldUseWebSocket = saved.flag('couldUseWebSocket');
    client.hasFallenBack = saved.flag('hasFallenBack');
    client.adviceIntervalMs = saved.number('adviceIntervalMs');
    for (const monitoring of saved.records('monitorings')) {
      const [key, name] = [monitoring.textOrThrow('key'), monitoring.textOrThrow('name')];
      client.monitorings.set(key, name);
      this.#parts.memory.takeAnyway('names', monitoringBytes(key, name));
      this.#parts.application.statistics.object.resubscribe(name);
      session?.statistics.object.resubscribe(name);
    }
    this.#byToken.set(client.token, client);
    return client;
  }

  /** Ends calls and clients that are expired at `nowNs`. All traffic up to `nowNs` must have been read. */
  sweep(nowNs: number): void {
    const goneNs = this.#parts.config.sessions.cometGoneMs * NS_PER_MS;
    for (const client of this.#byToken.values()) {
      if (client.calls.size > 0) this.#sweepCalls(client, nowNs);
      if (nowNs - client.goneSinceNs >= goneNs) this.end(client);
    }
    for (const login of this.#unsettled) this.#settle(login);
    this.#unsettled.clear();
  }

  #sweepCalls(client: BayeuxClient, nowNs: number): void {
    const { ackWaitMs, callTimeoutMs } = this.#parts.config.comet;
    const isGone = nowNs - client.goneSinceNs >= LEFT_AFTER_NS;
    const isExpired = ({ ackedNs, beganNs }: PendingCall) =>
      nowNs - (ackedNs || beganNs) >= (ackedNs > 0 ? ackWaitMs : callTimeoutMs) * NS_PER_MS;
    for (const pending of client.calls.takeAll(isExpired)) {
      const hasLeft = pending.source.isClosed && (isGone || pending.connectionType !== 'COMET_WEBSOCKET');
      this.#endUnanswered(client, pending, hasLeft ? 'abandoned' : 'timedOut', nowNs);
    }
  }

  /** Ends a call without a further answer: if the server has acknowledged it, that was the answer. */
  #endUnanswered(client: BayeuxClient, pending: PendingCall, why: keyof typeof UNANSWERED, nowNs: number): void {
    if (pending.ackedNs > 0) {
      this.callEnded(client, pending, { kind: 'answered', status: 200 }, pending.ackedNs);
    } else {
      this.#parts.metrics.counts[why] += 1;
      this.callEnded(client, pending, UNANSWERED[why], nowNs);
    }
  }

  #remove(client: BayeuxClient, leaving: Leaving): boolean {
    if (!this.#byToken.delete(client.token)) return false;
    client.isKnown = false;
    this.#ended.set(client.token, leaving);
    for (const [key, name] of client.monitorings) this.#unsubscribe(client, key, name);
    client.monitorings.clear();
    const nowNs = this.#parts.clock.nowNs();
    for (const pending of client.calls.takeAll()) this.#endUnanswered(client, pending, 'abandoned', nowNs);
    return true;
  }

  #unsubscribe(client: BayeuxClient, key: string, name: string): void {
    this.#parts.memory.giveBack('names', monitoringBytes(key, name));
    this.#parts.application.statistics.object.unsubscribe(name);
    client.session?.statistics.object.unsubscribe(name);
  }

  #loginOf({ session }: BayeuxClient): Login | undefined {
    return session && this.#logins.get(session);
  }

  /** The login has clients. */
  #settle(login: Login): void {
    let latestNs = Number.NEGATIVE_INFINITY;
    for (const { goneSinceNs } of login.clients) latestNs = Math.max(latestNs, goneSinceNs);
    this.#setGone(login, latestNs);
  }

  #setGone(login: Login, atNs: number): void {
    login.goneSinceNs = atNs;
    this.#parts.application.sessions.gone(login.session, atNs);
  }
}

function monitoringBytes(key: string, name: string): number {
  return MONITORING_BYTES + key.length + name.length;
}
