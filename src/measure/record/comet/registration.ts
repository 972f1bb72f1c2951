/** The part of a conversation that knows whose it is: clients that come, are found again, and leave, with their sessions. */
import { isUnknownClient } from '../../../protocol/bayeux/error.ts';
import type { BayeuxMessage } from '../../../protocol/bayeux/message.ts';
import type { StatedName } from '../../sessions/credentials.ts';
import type { ConnectionType, Session } from '../../sessions/session.ts';
import type { NameProof } from '../../sessions/session-table.ts';
import type { CometApplication } from './comet-application.ts';
import type { CometClient } from './comet-client.ts';
import type { CallOrigin } from './pending-calls.ts';

/** Who speaks, as far as HTTP tells it. */
export interface Speaker extends Omit<CallOrigin, 'application'> {
  readonly connectionType: Exclude<ConnectionType, 'REST'>;
  /** The name of the user as HTTP states it. */
  readonly stated: StatedName;
  /** Token of the login's cookie that the client sent. */
  readonly cookieToken: string | undefined;
}

/** A handshake that the server has accepted. */
export interface Handshake {
  readonly userName: string | null;
  readonly offersWebSocket: boolean;
  readonly askedNs: number;
}

export class Registration {
  readonly #application: CometApplication;
  readonly #speaker: Speaker;
  /** Clients that this WebSocket is a connection of, or whose connects this exchange holds. */
  readonly #connected = new Set<CometClient>();
  /** Token of the login's cookie where the response sets it. */
  setCookieToken: string | undefined;
  /** Whose messages without a `clientId` are. */
  current: CometClient | undefined;

  constructor(application: CometApplication, speaker: Speaker) {
    this.#application = application;
    this.#speaker = speaker;
  }

  get isWebSocket(): boolean {
    return this.#speaker.connectionType === 'COMET_WEBSOCKET';
  }

  /** Whose message it is; undefined where nothing tells it. */
  clientOf({ clientId }: BayeuxMessage, atNs: number): CometClient | undefined {
    if (clientId === undefined) return this.current;
    const token = this.#application.credentials.clientTokenOf(clientId);
    return this.current?.token === token ? this.current : this.#application.clients.findOrCreate(token, atNs);
  }

  /** The server has accepted a handshake: begins the client, and its session unless the login has one. */
  handshaken(reply: BayeuxMessage & { readonly clientId: string }, handshake: Handshake, atNs: number): void {
    const { clients, credentials } = this.#application;
    const client = clients.findOrCreate(credentials.clientTokenOf(reply.clientId), atNs);
    client.couldUseWebSocket =
      this.isWebSocket || (handshake.offersWebSocket && reply.supportedConnectionTypes?.includes('websocket') === true);
    const creationNs = atNs - handshake.askedNs;
    const session = this.#sessionOf(client, { userName: handshake.userName, atNs, creationNs, isAdopted: false });
    session?.touch(atNs);
    this.#know(client, session);
    this.current = client;
  }

  /**
   * The server has shown that it knows this client. One that was never seen to come was there before the sidecar, unless it
   * has left since. One whose session has ended for idleness comes back with the next thing that its user does.
   */
  prove(client: CometClient, by: 'activity' | 'heartbeat', atNs: number): void {
    if (client.isKnown) {
      this.#bind(client);
      return;
    }
    const ending = this.#application.clients.endingOf(client.token);
    if (ending === 'left' || (ending === 'idle' && by === 'heartbeat')) return;
    this.#application.metrics.adopted += 1;
    this.#know(client, this.#sessionOf(client, { userName: null, atNs, creationNs: 0, isAdopted: true }));
  }

  /** A `/meta/connect` of the client is on its way; `closed` ends it. */
  connecting(client: CometClient): void {
    if (!this.isWebSocket) this.#connect(client);
    else if (client.isKnown) this.#bind(client);
  }

  left(client: CometClient): void {
    this.#application.clients.end(client);
  }

  /** Whether `reply` says that the server does not know the client any more; that ends it. */
  isUnknown({ error }: BayeuxMessage, client: CometClient | undefined): boolean {
    if (!isUnknownClient(error)) return false;
    this.#application.metrics.unknownClients += 1;
    if (client !== undefined) this.left(client);
    return true;
  }

  /** The exchange has ended, or the WebSocket is closed. */
  closed(atNs: number): void {
    for (const client of this.#connected) this.#application.clients.disconnected(client, atNs);
    this.#connected.clear();
  }

  #know(client: CometClient, session: Session | undefined): void {
    const hasCookie = (this.setCookieToken ?? this.#speaker.cookieToken) !== undefined;
    if (this.#application.clients.know(client, session, hasCookie)) this.#bind(client);
  }

  #bind(client: CometClient): void {
    if (this.isWebSocket) this.#connect(client);
    client.session?.connectedOver(this.#speaker.connectionType);
  }

  #connect(client: CometClient): void {
    if (this.#connected.has(client)) return;
    this.#connected.add(client);
    this.#application.clients.connected(client);
  }

  /** The session of the login that the cookie stands for, else a new one; undefined when there are too many. */
  #sessionOf(
    client: CometClient,
    origin: { userName: string | null; atNs: number; creationNs: number; isAdopted: boolean },
  ): Session | undefined {
    const { sessions } = this.#application;
    const { cookieToken, connectionType, remoteAddress, stated } = this.#speaker;
    const userName = stated.userName ?? origin.userName;
    const proof = this.#proofOf(origin);
    const key = this.setCookieToken ?? cookieToken ?? client.token;
    const present =
      (cookieToken === undefined ? undefined : sessions.recognise(cookieToken, origin.atNs)) ??
      sessions.recognise(key, origin.atNs) ??
      sessions.join(key, key, origin.atNs);
    const session = present ?? sessions.begin(key, key, { ...origin, userName: null, connectionType, remoteAddress });
    if (present !== undefined) sessions.addToken(present, key);
    if (session !== undefined) sessions.name(session, userName, proof);
    return session;
  }

  /** What the name is worth that was stated with a handshake, or, of an adopted client, with its first message. */
  #proofOf({ userName, atNs, isAdopted }: { userName: string | null; atNs: number; isAdopted: boolean }): NameProof {
    const { isVerified, isAlone, credential, userName: byHttp } = this.#speaker.stated;
    if (isVerified) return 'proven';
    if (credential === undefined) return isAlone && !isAdopted ? 'proven' : { credential };
    // A credential without a name: the handshake's is nobody's but its own, and the server may have looked at the credential only.
    if (byHttp === null) return { credential: undefined };
    if (this.#application.sessions.recognise(credential, atNs) !== undefined) return 'proven';
    const isSameName = userName === null || userName === byHttp;
    return isAlone && isSameName && !isAdopted ? 'proven' : { credential };
  }
}
