import { difference, type Figure, figure, type Read, ratio } from '../results.ts';
import type { Column } from './workload.ts';

export const SIDECAR_NAME = 'sidecar';

export function column(key: Figure, title: string, digits = 1): Column {
  return { title, digits, read: (name) => figure(name, key) };
}

/** Microseconds, shown as milliseconds. */
function latency(key: 'p50Us' | 'p99Us' | 'p99BeforeUs', title: string): Column {
  return { title, digits: 2, read: (name) => ratio(figure(name, key), () => 1_000) };
}

/** The sidecar relative to each peer: below 1 it needs less. */
export const SIDECAR_TO_IT: Column = {
  title: 'sidecar to it',
  digits: 2,
  read: (name) => ratio(figure(SIDECAR_NAME, 'cpuUs'), figure(name, 'cpuUs')),
};
export const CPU = column('cpuUs', 'processor µs/request');
export const PER_SECOND = column('perSecond', 'requests/s', 0);
export const P50 = latency('p50Us', 'p50 ms');
export const P99 = latency('p99Us', 'p99 ms');
export const P99_BEFORE = latency('p99BeforeUs', 'p99 before ms');
export const MEMORY = column('rssMb', 'memory MB');
export const ADDED_P50: Column = { title: 'added p50 µs', digits: 0, read: addedP50 };

/** Added to the median of the upstream itself in the same round. */
export function addedP50(name: string): Read {
  return difference(figure(name, 'p50Us'), figure('direct', 'p50Us'));
}
