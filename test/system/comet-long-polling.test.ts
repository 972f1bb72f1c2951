/** The real `cometd` client and server over long-polling: the sidecar counts what they count. */
import { startCometdPlant } from '../support/comet/cometd-plant.ts';
import { compare } from './comet/comparison.ts';

for (const dataPath of ['auto', 'gateway'] as const) {
  compare('cometd over long-polling', {
    startPlant: () => startCometdPlant(),
    nextClient: () => ({ transport: 'long-polling' }),
    objects: {
      channel: [
        ...Array.from({ length: 18 }, (_, i) => `H.Boiler${i}.Temperature`),
        ...['U.Sum(1)', 'U.a-b_c~d!e$f@g'],
      ],
      // Names that cannot be channels of this client.
      service: [
        ...['H.Kotolňa.Výkon', 'S.100%', 'S.a b/c?d', 'S."quoted"'],
        ...['S.{name}', 'S.subscriptions', 'S.newValues', 'S.1'],
      ],
    },
    connectionType: 'COMET_LONG_POLLING',
    dataPath,
  });
}
