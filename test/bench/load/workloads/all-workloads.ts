import { COMET } from './comet.ts';
import { CONNECTIONS } from './connections.ts';
import { LOADS } from './loads.ts';
import { SCRAPE_PLANT } from './scrape-plant.ts';
import { TABLES } from './tables.ts';
import type { Workload } from './workload.ts';

export const ALL_WORKLOADS: readonly Workload[] = [...LOADS, ...CONNECTIONS, ...TABLES, SCRAPE_PLANT, COMET];
