/** Identifies the clients of a conversation, and begins, finds and ends their sessions. */
import { type BayeuxMessage, isUnknownClient } from '../../protocol/bayeux/message.ts';
import type { StatedName } from '../sessions/credentials.ts';
import type { ConnectionType, Session, SessionStart } from '../sessions/session.ts';
import type { NameProof } from '../sessions/session-table.ts';
import type { BayeuxClient, CallSource, Handshake } from './bayeux-client.ts';
import type { CometApplication } from './comet-application.ts';

/** What HTTP says about the sender of the messages. */
export interface Speaker extends Pick<CallSource, 'traceparent'> {
  readonly connectionType: Exclude<ConnectionType, 'REST'>;
  readonly remoteAddress: string;
  readonly stated: StatedName;
  /** Token of the login cookie that the client sent. */
  readonly cookieToken: string | undefined;
}

type Start = Pick<SessionStart, 'userName' | 'atNs' | 'creationNs' | 'isAdopted'>;

/** Clients that one exchange or WebSocket can keep connected. */
const MAX_CONNECTED = 100;
/** Memory of a client that may be in no table. */
const CLIENT_BYTES = 800;

export class Registration {
  readonly #application: CometApplication;
  readonly #speaker: Speaker;
  /** Clients that are connected through this WebSocket, or whose connects this exchange holds. */
  readonly #connected = new Set<BayeuxClient>();
  setCookieToken: string | undefined;
  /** The name that the server states in the response (`sessions.userField`). */
  statedByServer: StatedName | undefined;
  /** The client that messages without a `clientId` belong to. */
  current: BayeuxClient | undefined;
  /** The first client that the messages name. */
  #first: BayeuxClient | undefined;

  constructor(application: CometApplication, speaker: Speaker) {
    this.#application = application;
    this.#speaker = speaker;
  }

  get isWebSocket(): boolean {
    return this.#speaker.connectionType === 'COMET_WEBSOCKET';
  }

  /** The client of a message; undefined if nothing identifies it. */
  clientOf({ clientId }: BayeuxMessage, atNs: number): BayeuxClient | undefined {
    if (clientId === undefined) return this.current;
    const token = this.#application.credentials.clientTokenOf(clientId);
    return this.current?.token === token ? this.current : this.#application.clients.findOrCreate(token, atNs);
  }

  /** The client has sent a message as `client`. */
  speaksAs(client: BayeuxClient): void {
    this.#first ??= client;
    this.current = client;
  }

  /** The server has accepted a handshake: begins the client, and a session unless its login has one. */
  handshaken(reply: BayeuxMessage & { readonly clientId: string }, handshake: Handshake, atNs: number): void {
    const { clients, credentials } = this.#application;
    const client = clients.findOrCreate(credentials.clientTokenOf(reply.clientId), atNs);
    client.couldUseWebSocket =
      this.isWebSocket || (handshake.offersWebSocket && reply.supportedConnectionTypes?.includes('websocket') === true);
    const creationNs = atNs - handshake.requestedNs;
    const session = this.#sessionOf(client, { userName: handshake.userName, atNs, creationNs, isAdopted: false });
    session?.touch(atNs);
    this.#know(client, session);
    this.current = client;
  }

  /**
   * The server knows this client. One that is new to us existed before the sidecar's start; it is adopted unless it has
   * left. A client whose session ended by idleness returns with its user's next activity, not with a heartbeat. CometD
   * handles all messages of a request as of its first client and does not check the others: only the first is adopted.
   */
  confirm(client: BayeuxClient, by: 'activity' | 'heartbeat', atNs: number): void {
    if (client.isKnown) {
      this.#bind(client);
      return;
    }
    const ending = this.#application.clients.endingOf(client.token);
    if (ending === 'left' || (ending === 'idle' && by === 'heartbeat') || client !== this.#first) return;
    this.#application.metrics.counts.adopted += 1;
    this.#know(client, this.#sessionOf(client, { userName: null, atNs, creationNs: 0, isAdopted: true }));
  }

  /** The client has sent `/meta/connect`; `closed` ends the connection. */
  connecting(client: BayeuxClient): void {
    if (!this.isWebSocket) this.#connect(client);
    else if (client.isKnown) this.#bind(client);
  }

  /** Ends the client if the reply says that the server no longer knows it. */
  endIfUnknown({ error }: BayeuxMessage, client: BayeuxClient | undefined): void {
    if (!isUnknownClient(error)) return;
    this.#application.metrics.counts.unknownClients += 1;
    if (client !== undefined) this.#application.clients.end(client);
  }

  closed(atNs: number): void {
    for (const client of this.#connected) this.#application.clients.disconnected(client, atNs);
    const others = Math.max(0, this.#connected.size - 1);
    this.#application.memory.giveBack('names', others * CLIENT_BYTES);
    this.#connected.clear();
  }

  #know(client: BayeuxClient, session: Session | undefined): void {
    const hasCookie = (this.setCookieToken ?? this.#speaker.cookieToken) !== undefined;
    if (this.#application.clients.know(client, session, hasCookie)) this.#bind(client);
  }

  #bind(client: BayeuxClient): void {
    if (this.isWebSocket) this.#connect(client);
    client.session?.connectedOver(this.#speaker.connectionType);
  }

  #connect(client: BayeuxClient): void {
    if (this.#connected.has(client)) return;
    // One client is as many as a browser has on a connection. A body may name thousands.
    const isFull = this.#connected.size >= MAX_CONNECTED;
    if (isFull || (this.#connected.size > 0 && !this.#application.memory.take('names', CLIENT_BYTES))) {
      this.#application.metrics.untracked.clients += 1;
      return;
    }
    this.#connected.add(client);
    this.#application.clients.connected(client);
  }

  /** The session of the cookie's login, else a new one; undefined when there are too many. */
  #sessionOf(client: BayeuxClient, start: Start): Session | undefined {
    const { sessions } = this.#application;
    const { cookieToken, connectionType, remoteAddress } = this.#speaker;
    const stated = this.statedByServer ?? this.#speaker.stated;
    const userName = stated.userName ?? start.userName;
    const proof = this.#proofOf(stated, start);
    const key = this.setCookieToken ?? cookieToken ?? client.token;
    const present =
      (cookieToken === undefined ? undefined : sessions.recognise(cookieToken, start.atNs)) ??
      sessions.recognise(key, start.atNs) ??
      sessions.join(key, key, start.atNs);
    const session = present ?? sessions.begin(key, key, { ...start, userName: null, connectionType, remoteAddress });
    if (present !== undefined) sessions.addToken(present, key);
    if (session !== undefined) sessions.name(session, userName, proof);
    return session;
  }

  /** What verifies a name that came with a handshake or, for an adopted client, with its first message. */
  #proofOf(stated: StatedName, { userName, atNs, isAdopted }: Start): NameProof {
    const { isVerified, isAlone, credentialToken, userName: byHttp } = stated;
    if (isVerified) return 'verified';
    if (credentialToken === undefined) return isAlone && !isAdopted ? 'verified' : { credentialToken };
    // The credential names nobody, and the server may have checked only that: nothing verifies the handshake's name.
    if (byHttp === null) return { credentialToken: undefined };
    if (this.#application.sessions.recognise(credentialToken, atNs) !== undefined) return 'verified';
    const isSameName = userName === null || userName === byHttp;
    return isAlone && isSameName && !isAdopted ? 'verified' : { credentialToken };
  }
}
