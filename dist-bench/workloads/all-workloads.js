import { CONNECTIONS } from './connections.js';
import { LOADS } from './loads.js';
import { TABLES } from './tables.js';
/** In the order of the report. */
export const ALL_WORKLOADS = [...LOADS, ...CONNECTIONS, ...TABLES];
