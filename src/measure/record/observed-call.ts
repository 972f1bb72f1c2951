import type { Ending, Exchange } from '../../proxy/exchange/exchange.ts';
import type { Call } from '../classify/classifier.ts';
import type { Claim, Identity } from '../sessions/credentials.ts';
import type { Session, SessionStart } from '../sessions/session.ts';
import type { SessionTable } from '../sessions/session-table.ts';
import type { RecordedApplication } from './recorded-application.ts';
import type { RunningCall } from './running-calls.ts';

/** Who sent a request, if its credential was not accepted before: what may begin a session when the server accepts it. */
export interface Sender {
  readonly claim: Claim | undefined;
  readonly identity: Identity | undefined;
}

/** A running call. Holds no text of the head: `token` is a hash, the call's name a copy. */
export class ObservedCall implements RunningCall {
  readonly kind = 'call';
  readonly connectionType = 'REST';
  place = -1;
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

/** The session of the call, after its `callBegan`. The first accepted call begins one. */
export function findSessionAtEnd(observation: ObservedCall, exchange: Exchange, ending: Ending): Session | undefined {
  const { application, token, session, sender, userByServer } = observation;
  if (userByServer !== undefined && ending.kind === 'completed') {
    return sessionByServer(observation, userByServer, exchange);
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
function sessionByServer(observation: ObservedCall, user: Identity, exchange: Exchange): Session | undefined {
  const { sessions } = observation.application;
  const { beganNs, endedNs } = exchange;
  if (observation.session !== undefined) {
    sessions.name(observation.session, user.userName, 'verified');
    return observation.session;
  }
  // A credential that came with a login may be wrong, so it must not identify the user's session later.
  const isAlone = observation.token !== undefined && observation.sender?.claim === undefined;
  const token = isAlone ? observation.token : user.key;
  const start = startOf(user, exchange);
  const present = sessions.join(user.key, token, endedNs);
  const session = present ?? (isLogout(observation.call) ? undefined : sessions.begin(user.key, token, start));
  session?.callBegan(beganNs);
  return session;
}

/** The session of a just accepted call whose credential was not accepted before. */
function acceptedSession(
  { call, application, sender }: ObservedCall,
  token: string,
  exchange: Exchange,
): Session | undefined {
  const { sessions } = application;
  const { endedNs } = exchange;
  if (sender?.identity === undefined) return undefined;
  const { claim, identity } = sender;
  const present =
    claim === undefined ? sessions.joinVerified(identity.key, token, endedNs) : sessions.joinClaim(claim, endedNs);
  if (present !== undefined || isLogout(call)) return present;
  const start = startOf(identity, exchange);
  return claim === undefined ? sessions.begin(identity.key, token, start) : sessions.beginClaim(claim, start);
}

function startOf({ userName }: Identity, { endedNs, durationNs, client }: Exchange): SessionStart {
  const { remoteAddress } = client;
  return { userName, connectionType: 'REST', remoteAddress, atNs: endedNs, creationNs: durationNs };
}

export function recogniseClaim(sessions: SessionTable, claim: Claim | undefined, nowNs: number): Session | undefined {
  return claim !== undefined && sessions.hasClaims ? sessions.recognise(claim.token, nowNs) : undefined;
}

export function isAccepted(status: number): boolean {
  return status >= 200 && status <= 399;
}

export function isLogout(call: Call): boolean {
  return call.kind === 'session' && call.name === 'logout';
}
