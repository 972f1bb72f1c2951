import { BODIES } from './bodies.ts';
import { CONNECTIONS, SLOW_CLIENTS } from './connections.ts';
import type { Flood } from './flood.ts';
import { PIECES } from './pieces.ts';
import { MONITORING_PORT, TLS } from './ports.ts';
import { WEB_SOCKETS } from './websockets.ts';

export const FLOODS: readonly Flood[] = [
  BODIES,
  WEB_SOCKETS,
  SLOW_CLIENTS,
  CONNECTIONS,
  MONITORING_PORT,
  TLS,
  PIECES,
].flatMap((floods) => Object.entries(floods).map(([name, flood]) => ({ name, ...flood })));
