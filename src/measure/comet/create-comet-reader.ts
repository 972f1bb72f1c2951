import type { Clock } from '../../base/clock.ts';
import type { Config } from '../../config/config.ts';
import { parsePointer, resolvePointer } from '../../config/rules/json-pointer.ts';
import type { MemoryBudget } from '../../limits/memory-budget.ts';
import { ReadingShare } from '../../limits/reading-share.ts';
import { UnfinishedBodies } from '../../limits/unfinished-bodies.ts';
import type { BayeuxMessage } from '../../protocol/bayeux/message.ts';
import { FrameRate } from '../../protocol/websocket/frame-rate.ts';
import { CometClassifier } from '../classify/comet-classifier.ts';
import { CometRoutes } from '../classify/comet-route.ts';
import type { CallObservers } from '../record/call-observer.ts';
import type { RecordedApplication } from '../record/recorded-application.ts';
import { type Credentials, toShownName } from '../sessions/credentials.ts';
import type { CometApplication } from './comet-application.ts';
import { CometClients } from './comet-clients.ts';
import { type CometListener, shielded } from './comet-listener.ts';
import type { CometMetrics } from './comet-metrics.ts';
import { CometReader, type CometReaderChanges } from './comet-reader.ts';

/** Frames read per second: following them takes a few percent of the event loop. Thousands of users send less. */
const FRAMES = { all: 10_000, ofOne: 2_000 };

type CometConfig = Pick<Config, 'applications' | 'comet' | 'sessions'>;

/** Where the reader reports and counts what it reads. */
export interface CometSinks {
  readonly metrics: CometMetrics;
  readonly observers: CallObservers;
  readonly listener: CometListener | undefined;
  /** The budget for kept bodies and messages. */
  readonly memory: MemoryBudget;
}

/** Throws `D2S_ERR_CONFIG` for an unusable rule in `comet.rules`. */
export function createCometReader(
  config: CometConfig,
  clock: Clock,
  applications: readonly RecordedApplication[],
  credentials: Credentials,
  { metrics, observers, listener, memory }: CometSinks,
): CometReader {
  const { reading: configured, ...changes } = createCometChanges(config);
  const reading = new ReadingShare({ clock, onFailure: (cause) => observers.onFailure(cause) });
  const shared = {
    metrics,
    memory,
    bodies: new UnfinishedBodies(memory),
    reading,
    frameRate: new FrameRate(clock, FRAMES),
  };
  const createApplication = (application: RecordedApplication): CometApplication => {
    const { name, sessions } = application;
    const clients = new CometClients({ ...application, clock, metrics, observers, memory, config });
    const services = { name, clock, credentials, sessions, clients, observers, ...shared };
    return { ...configured, ...services, listener: listener && shielded(listener) };
  };
  return new CometReader({
    routes: changes.routes,
    userField: changes.userField,
    applications: new Map(applications.map((application) => [application.name, createApplication(application)])),
    reading,
  });
}

/** The parts of a reader that a reload replaces. Throws as `createCometReader`. */
export function createCometChanges(config: CometConfig): CometReaderChanges {
  const { applications, comet, sessions } = config;
  const { path, userField } = sessions.formLogin;
  return {
    routes: new CometRoutes(applications, comet.path, path),
    userField,
    reading: { config: comet, classifier: new CometClassifier(comet), userOf: createUserOf(comet.userPointers) },
    limits: config,
  };
}

function createUserOf(userPointers: readonly string[]): (handshake: BayeuxMessage) => string | null {
  const pointers = userPointers.map(parsePointer).filter((pointer) => pointer !== undefined);
  return (handshake) => {
    for (const pointer of pointers) {
      const user = resolvePointer(handshake, pointer);
      if (typeof user === 'string' && user !== '') return toShownName(user);
    }
    return null;
  };
}
