/** One Bayeux client, i.e. one `clientId`: usually one browser tab. Only `CometClients` changes it. */
import type { Session } from '../../sessions/session.ts';
import type { PendingCalls } from './pending-calls.ts';

export class CometClient {
  /** Keyed hash of its `clientId`. */
  readonly token: string;
  readonly calls: PendingCalls;
  /** What it monitors: from the requested channel or name to the object's name. */
  readonly monitorings = new Map<string, string>();
  /** Undefined until the server is seen to know the client, and when there were too many sessions. */
  session: Session | undefined;
  /** Its open WebSockets and its held `/meta/connect`s. */
  connections = 0;
  /** When its last connection closed; infinity while it has one. */
  goneSinceNs: number;
  /** Whether the server has been seen to accept it. */
  isKnown = false;
  /** The server offered WebSocket, or the client used it. */
  couldUseWebSocket = false;
  hasFallenBack = false;
  /** The wait before the next connect that the server advises. */
  adviceIntervalMs = 0;
  /** When its last connect was answered; 0 before the first answer. */
  lastConnectedNs = 0;

  /** `calls`: pending calls, empty at first. */
  constructor(token: string, calls: PendingCalls, atNs: number) {
    this.token = token;
    this.calls = calls;
    this.goneSinceNs = atNs;
  }
}
