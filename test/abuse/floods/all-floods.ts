import { BODIES } from './bodies.ts';
import { CONNECTIONS, SLOW_CLIENTS } from './connections.ts';
import type { Flood } from './flood.ts';
import { PIECES } from './pieces.ts';
import { MONITORING_PORT, TLS } from './ports.ts';
import { WEB_SOCKETS } from './websockets.ts';

const ALL = { ...BODIES, ...WEB_SOCKETS, ...SLOW_CLIENTS, ...CONNECTIONS, ...MONITORING_PORT, ...TLS, ...PIECES };

export const FLOODS: readonly Flood[] = Object.entries(ALL).map(([name, flood]) => ({ name, ...flood }));
