import type { Config } from '../../config/config.ts';
import { parsePointer, resolvePointer } from '../../config/rules/json-pointer.ts';
import type { ReadingShare } from '../../limits/reading-share.ts';
import type { EvictableBodies } from '../../limits/unfinished-bodies.ts';
import type { BayeuxMessage } from '../../protocol/bayeux/message.ts';
import type { FrameRate } from '../../protocol/websocket/frame-rate.ts';
import { CometClassifier } from '../classify/comet-classifier.ts';
import { type Credentials, sanitizeUserName } from '../sessions/credentials.ts';
import type { SessionTable } from '../sessions/session-table.ts';
import type { BayeuxClients, ClientServices } from './bayeux-clients.ts';

export type CometConfig = Pick<Config, 'applications' | 'comet' | 'sessions'>;

export interface CometServices extends ClientServices {
  readonly credentials: Credentials;
  /** Receives what is read; undefined in a serving sidecar. */
  readonly listener: CometListener | undefined;
}

/** With options from the configuration. A reload may replace them at any moment, so keep no copies. */
export interface CometApplication extends Readonly<ReturnType<typeof createReadingOptions>>, CometServices {
  readonly name: string;
  readonly sessions: SessionTable;
  readonly clients: BayeuxClients;
  readonly bodies: EvictableBodies;
  readonly reading: ReadingShare;
  readonly frameRate: FrameRate;
}

/** Throws `D2S_ERR_CONFIG` for an unusable rule in `comet.rules`. */
export function createReadingOptions({ comet }: CometConfig) {
  const pointers = comet.userPointers.map(parsePointer).filter((pointer) => pointer !== undefined);
  return {
    config: comet,
    classifier: new CometClassifier(comet),
    /** The user name in a handshake, safe to display. */
    userOf: (handshake: BayeuxMessage): string | null => {
      const users = pointers.map((pointer) => resolvePointer(handshake, pointer));
      const user = users.find((found) => typeof found === 'string' && found !== '');
      return typeof user === 'string' ? sanitizeUserName(user) : null;
    },
  };
}

/** Receives the Comet messages that are read, after they were processed; see `d2-sidecar learn`. Must not keep them. */
export interface CometListener {
  /** `client`: the same object for all messages of one client; undefined if the client is unknown. */
  onClientMessage(message: BayeuxMessage, client: object | undefined): void;
  onUpstreamMessage(message: BayeuxMessage, client: object | undefined): void;
  onFailure(): void;
}
