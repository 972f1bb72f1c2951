import type { Clock } from '../../base/clock.ts';
import type { Config } from '../../config/config.ts';
import type { MemoryBudget } from '../../limits/memory-budget.ts';
import type { ReadingShare } from '../../limits/reading-share.ts';
import type { UnfinishedBodies } from '../../limits/unfinished-bodies.ts';
import type { BayeuxMessage } from '../../protocol/bayeux/message.ts';
import type { FrameRate } from '../../protocol/websocket/frame-rate.ts';
import type { CometClassifier } from '../classify/comet-classifier.ts';
import type { CallObservers } from '../record/call-observer.ts';
import type { Credentials } from '../sessions/credentials.ts';
import type { SessionTable } from '../sessions/session-table.ts';
import type { CometClients } from './comet-clients.ts';
import type { CometListener } from './comet-listener.ts';
import type { CometMetrics } from './comet-metrics.ts';

/** Options of reading, from the configuration. A reload may replace them at any moment, so keep no copies. */
export interface CometReadingOptions {
  readonly config: Config['comet'];
  readonly classifier: CometClassifier;
  /** The user name in a handshake, safe to display. */
  userOf(handshake: BayeuxMessage): string | null;
}

export interface CometApplication extends CometReadingOptions {
  readonly clock: Clock;
  readonly credentials: Credentials;
  readonly sessions: SessionTable;
  readonly clients: CometClients;
  readonly name: string;
  readonly observers: CallObservers;
  /** This and the next four are shared by all applications. */
  readonly metrics: CometMetrics;
  readonly memory: MemoryBudget;
  readonly bodies: UnfinishedBodies;
  /** Schedules the reading of complete bodies. */
  readonly reading: ReadingShare;
  /** Limits the frames of WebSockets that are read. */
  readonly frameRate: FrameRate;
  /** Receives what is read; undefined in a serving sidecar. */
  readonly listener?: CometListener | undefined;
}
