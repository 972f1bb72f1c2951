import { parsePointer, resolvePointer } from '../../bayeux/json-pointer.ts';
import type { BayeuxMessage } from '../../bayeux/message.ts';
import { CometClassifier } from '../../classify/comet-classifier.ts';
import { CometRoutes } from '../../classify/comet-route.ts';
import type { Clock } from '../../clock.ts';
import type { Config } from '../../config/config.ts';
import { type Credentials, toShownName } from '../../sessions/credentials.ts';
import { MemoryBudget } from '../../websocket/memory-budget.ts';
import type { ApplicationStatistics } from '../recorder.ts';
import type { CometApplication } from './comet-application.ts';
import { CometClients } from './comet-clients.ts';
import { type CometListener, guarded } from './comet-listener.ts';
import type { CometMetrics } from './comet-metrics.ts';
import { CometReader } from './comet-reader.ts';

/** Throws `D2S_ERR_CONFIG` for a rule in `comet.rules` that cannot be used. */
export function createCometReader(
  config: Pick<Config, 'applications' | 'comet' | 'sessions'>,
  clock: Clock,
  applications: readonly ApplicationStatistics[],
  credentials: Credentials,
  metrics: CometMetrics,
  listener?: CometListener,
): CometReader {
  const classifier = new CometClassifier(config.comet);
  const userOf = createUserOf(config.comet.userPointers);
  const createApplication = ({ statistics, sessions }: ApplicationStatistics): CometApplication => {
    const clients = new CometClients({ clock, statistics, sessions, metrics, config });
    const services = { clock, config: config.comet, classifier, credentials, sessions, clients, metrics, userOf };
    return { ...services, listener: listener && guarded(listener) };
  };
  return new CometReader({
    routes: new CometRoutes(config.applications, config.comet.path, config.sessions.formLogin.path),
    applications: new Map(applications.map((application) => [application.name, createApplication(application)])),
    tunnels: { budget: new MemoryBudget(config.comet.maxMemoryBytes) },
    userField: config.sessions.formLogin.userField,
  });
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
