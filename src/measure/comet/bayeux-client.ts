/** One Bayeux client, i.e. one `clientId`: usually one browser tab. Only `BayeuxClients` changes it. */
import type { SavedFields } from '../../state/saved-record.ts';
import type { Session } from '../sessions/session.ts';
import type { PendingCalls } from './pending-calls.ts';

export class BayeuxClient {
  /** Keyed hash of its `clientId`. */
  readonly token: string;
  readonly calls: PendingCalls;
  /** The monitored objects: from the requested channel or name to the object's name. */
  readonly monitorings = new Map<string, string>();
  /** Undefined until the server's answer confirms the client, and when the session table was full. */
  session: Session | undefined;
  /** Its open WebSockets and its holds. */
  connections = 0;
  /** When its last connection closed; infinity while it has one. */
  goneSinceNs: number;
  /** The server's answer has confirmed it. */
  isKnown = false;
  /** The server offered WebSocket, or the client used it. */
  couldUseWebSocket = false;
  hasFallenBack = false;
  /** The wait before the next connect that the server advises. */
  adviceIntervalMs = 0;
  /** When its last connect was answered; 0 before the first answer. */
  lastConnectedNs = 0;

  constructor(token: string, calls: PendingCalls, atNs: number) {
    this.token = token;
    this.calls = calls;
    this.goneSinceNs = atNs;
  }

  /** For the state file. A restart interrupts pending calls and connects, so they are not saved. */
  save(): SavedFields {
    const { token, couldUseWebSocket, hasFallenBack, adviceIntervalMs, goneSinceNs } = this;
    const monitorings = Array.from(this.monitorings, ([key, name]) => ({ key, name }));
    return { token, couldUseWebSocket, hasFallenBack, adviceIntervalMs, goneSinceNs, monitorings };
  }
}
