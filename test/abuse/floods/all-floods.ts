import { COMET_BODIES } from './comet-bodies.ts';
import { CONNECTIONS } from './connections.ts';
import type { Flood } from './flood.ts';
import { MONITORING_PORT } from './monitoring-port.ts';
import { PIPELINING } from './pipelining.ts';
import { SLOW_CLIENTS } from './slow-clients.ts';
import { TLS } from './tls.ts';
import { WEB_SOCKETS } from './websockets.ts';

/** In the order in which they run. */
export const FLOODS: readonly Flood[] = [
  ...COMET_BODIES,
  ...PIPELINING,
  ...WEB_SOCKETS,
  ...SLOW_CLIENTS,
  ...CONNECTIONS,
  ...MONITORING_PORT,
  ...TLS,
];
