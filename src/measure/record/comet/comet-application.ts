import type { Clock } from '../../../base/clock.ts';
import type { Config } from '../../../config/config.ts';
import type { MemoryBudget } from '../../../limits/memory-budget.ts';
import type { ReadingShare } from '../../../limits/reading-share.ts';
import type { UnfinishedBodies } from '../../../limits/unfinished-bodies.ts';
import type { BayeuxMessage } from '../../../protocol/bayeux/message.ts';
import type { FrameRate } from '../../../protocol/websocket/frame-rate.ts';
import type { CometClassifier } from '../../classify/comet-classifier.ts';
import type { Credentials } from '../../sessions/credentials.ts';
import type { SessionTable } from '../../sessions/session-table.ts';
import type { CallObservers } from '../call-observer.ts';
import type { CometClients } from './comet-clients.ts';
import type { CometListener } from './comet-listener.ts';
import type { CometMetrics } from './comet-metrics.ts';

/** What the configuration says of reading. It may become another at any moment, so nobody keeps it. */
export interface CometReading {
  readonly config: Config['comet'];
  readonly classifier: CometClassifier;
  /** The user's name that a handshake brings, fit to be shown. */
  userOf(handshake: BayeuxMessage): string | null;
}

/** All that reading the Comet traffic of one application works with. */
export interface CometApplication extends CometReading {
  readonly clock: Clock;
  readonly credentials: Credentials;
  readonly sessions: SessionTable;
  readonly clients: CometClients;
  /** As in the configuration. */
  readonly name: string;
  readonly observers: CallObservers;
  /** Of all applications together, like the four that follow. */
  readonly metrics: CometMetrics;
  readonly memory: MemoryBudget;
  readonly bodies: UnfinishedBodies;
  /** When what has come whole is read. */
  readonly reading: ReadingShare;
  /** Of WebSockets that are read. */
  readonly frameRate: FrameRate;
  /** Hears what is read; undefined in a sidecar that serves. */
  readonly listener?: CometListener | undefined;
}
