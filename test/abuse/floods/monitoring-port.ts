import { toBasic } from '../plant.ts';
import type { Flood } from './flood.ts';
import { toHead } from './requests.ts';

const WRONG_PASSWORDS_EACH = 4;
const REOPEN_AFTER_MS = 1_000;

export const MONITORING_PORT: readonly Flood[] = [
  {
    name: 'monitor-idle',
    what: '1,000 idle connections of one address to the monitoring port; one that is closed is opened again after a second',
    setting: 'monitor',
    // Verifying a password takes 0.3 s of a processor, shared with accepting and closing a thousand connections.
    monitorWaitMs: 500,
    attack: async (attacker) => {
      const { monitorPort } = attacker.target;
      await attacker.repeat(attacker.count(1_000, 1_000), async () => {
        const socket = await attacker.connect({ port: monitorPort });
        if (socket === undefined) return false;
        socket.resume();
        await new Promise((resolve) => socket.once('close', resolve));
        await attacker.pause(REOPEN_AFTER_MS);
        return true;
      });
    },
  },
  {
    name: 'monitor-passwords',
    what: '540 wrong passwords at the monitoring port, four from each of 135 addresses',
    setting: 'monitor',
    // At most three verifications are queued before a valid one, and each takes about half a second.
    monitorWaitMs: 1_500,
    attack: async (attacker) => {
      const { monitorPort } = attacker.target;
      const addresses = Array.from({ length: attacker.count(135, 50) }, (_, i) => `127.0.1.${i + 1}`);
      await Promise.all(
        addresses.map(async (from) => {
          for (let i = 0; i < WRONG_PASSWORDS_EACH; i += 1) {
            const socket = await attacker.connect({ from, port: monitorPort });
            if (socket === undefined) return;
            const fields = { Authorization: toBasic('reader0', `wrong ${from} ${i}`), Connection: 'close' };
            await attacker.write(socket, toHead('GET /metrics', fields));
            socket.resume();
          }
        }),
      );
      await attacker.untilEnd();
    },
  },
];
