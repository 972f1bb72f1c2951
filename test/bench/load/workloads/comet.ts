/** The cost of reading Comet: values over a compressed WebSocket, through a sidecar that reads it and one that does not. */
import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { toUpgrade } from '../../../support/load/heads.ts';
import { cpuUsOf } from '../../../support/load/proc.ts';
import { clientText } from '../../../support/protocol/websocket/frames.ts';
import { ADMIN_PATH, VALUES_PER_S } from '../answers.ts';
import { OTHER_BUILD, SIDECAR, UNREADING_SIDECAR } from '../peers/node-peers.ts';
import { difference, figure, type Sample } from '../results.ts';
import { column, MEMORY, residentMb, type Turn, type Workload } from './workload.ts';

const LEAD_IN_MS = 1_000;
const HANDSHAKE = JSON.stringify([{ channel: '/meta/handshake', id: '1' }]);

/** A client that drops what it receives, so that it costs almost nothing. */
async function measure({ contestant, running: { pid, spot }, seconds }: Turn): Promise<Sample> {
  const [way, values] = contestant.name.split('-');
  const socket = net.connect(spot.port, '127.0.0.1').on('error', () => undefined);
  socket.write(toUpgrade(`/smartWeb/api/cometd?values=${values}`));
  await once(socket, 'data');
  socket.write(clientText(HANDSHAKE));
  await sleep(LEAD_IN_MS);
  const [beforeUs, seenBefore, beganMs] = [cpuUsOf(pid), await valuesSeen(spot.monitorPort), performance.now()];
  await sleep(seconds * 1_000);
  const cpuUs = cpuUsOf(pid) - beforeUs;
  const pushed = ((performance.now() - beganMs) / 1_000) * VALUES_PER_S;
  const seen = (await valuesSeen(spot.monitorPort)) - seenBefore;
  socket.destroy();
  if (way === 'unread' ? seen > 0 : seen < 0.9 * pushed) throw new Error(`counted ${seen} of ${pushed} values`);
  return { cpuUs: cpuUs / pushed, rssMb: residentMb(pid) };
}

async function valuesSeen(monitorPort: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${monitorPort}${ADMIN_PATH}/metrics/d2/object`);
  const { meters } = (await response.json()) as { meters: { 'object.newValues': { count: number } } };
  return meters['object.newValues'].count;
}

export const COMET: Workload = {
  name: 'comet',
  title: 'Reading Comet',
  how: `${VALUES_PER_S} values a second over a WebSocket, compressed with context takeover, ten or one in each message.`,
  upstream: 'comet-values',
  contestants: [10, 1].flatMap((values) => [
    { name: `reading-${values}`, title: `sidecar, ${values} in a message`, peer: SIDECAR },
    ...OTHER_BUILD.map((peer) => ({ name: `other-${values}`, title: `the other build, ${values} in a message`, peer })),
    { name: `unread-${values}`, title: `sidecar, comet.enabled off, ${values} in a message`, peer: UNREADING_SIDECAR },
  ]),
  columns: [
    column('cpuUs', 'processor µs/value'),
    {
      title: 'of reading',
      digits: 1,
      read: (name) => difference(figure(name, 'cpuUs'), figure(name.replace(/^\w+/, 'unread'), 'cpuUs')),
    },
    MEMORY,
  ],
  targets: [],
  measure,
};
