/** One Bayeux client, which is one `clientId`: a browser's tab, as a rule. Changed by `CometClients` only. */
import type { MemoryBudget } from '../../../limits/memory-budget.ts';
import type { Session } from '../../sessions/session.ts';
import { PendingCalls } from './pending-calls.ts';

export class CometClient {
  /** Keyed hash of its `clientId`. */
  readonly token: string;
  readonly calls: PendingCalls;
  /** What it monitors: from what it said to the object's name. */
  readonly monitorings = new Map<string, string>();
  /** Undefined before the server has been seen to know it, and when there were too many sessions. */
  session: Session | undefined;
  /** WebSockets that it uses, and `/meta/connect`s of it that the server holds. */
  connections = 0;
  /** Since when it has no connection; infinity while it has one. */
  goneSinceNs: number;
  /** Whether the server has accepted it, as far as was seen. */
  isKnown = false;
  /** WebSocket was offered by the server, or used. */
  couldUseWebSocket = false;
  hasFallenBack = false;
  /** How long the server wants it to wait before the next connect. */
  adviceIntervalMs = 0;
  /** When its last connect was answered; 0 before the first. */
  lastConnectedNs = 0;

  /** `calls`: how many may wait, and what their names are taken from. */
  constructor(token: string, calls: { readonly max: number; readonly memory: MemoryBudget }, atNs: number) {
    this.token = token;
    this.calls = new PendingCalls(calls.max, calls.memory);
    this.goneSinceNs = atNs;
  }
}
