/** What `d2-sidecar top` shows: the data of the live page, with the running and the slowest calls. */
import { jsonWithMember } from '../json-pieces.ts';
import type { Monitored } from '../monitored.ts';
import { renderLive } from './live-document.ts';

const MAX_RUNNING = 200;
const MAX_SLOWEST = 100;

/** One line of JSON with its line feed. */
export function renderTop(monitored: Required<Monitored>): string {
  const calls = {
    calls: monitored.applications.map(({ name, running, slowest }) => ({
      ...{ name, total: running.size, running: running.oldest(MAX_RUNNING) },
      slowest: slowest.slowest().slice(0, MAX_SLOWEST),
    })),
  };
  const page = renderLive(monitored, monitored.live, { role: 'sessions', since: 0 });
  return `${[...jsonWithMember(calls, 'live', page)].join('')}\n`;
}
