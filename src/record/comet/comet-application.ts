import type { BayeuxMessage } from '../../bayeux/message.ts';
import type { CometClassifier } from '../../classify/comet-classifier.ts';
import type { Clock } from '../../clock.ts';
import type { Config } from '../../config/config.ts';
import type { Credentials } from '../../sessions/credentials.ts';
import type { SessionTable } from '../../sessions/session-table.ts';
import type { CometClients } from './comet-clients.ts';
import type { CometListener } from './comet-listener.ts';
import type { CometMetrics } from './comet-metrics.ts';

/** All that reading the Comet traffic of one application works with. */
export interface CometApplication {
  readonly clock: Clock;
  readonly config: Config['comet'];
  readonly classifier: CometClassifier;
  readonly credentials: Credentials;
  readonly sessions: SessionTable;
  readonly clients: CometClients;
  /** Of all applications together. */
  readonly metrics: CometMetrics;
  /** The user's name that a handshake brings, fit to be shown. */
  userOf(handshake: BayeuxMessage): string | null;
  /** Hears what is read; undefined in a sidecar that serves. */
  readonly listener?: CometListener | undefined;
}
