/** The real `faye` client and server over WebSocket: the sidecar counts what they count. */
import { playsAll } from '../support/effort.ts';
import { compare } from './comet/comparison.ts';
import { FayePeer } from './comet/faye-peer.ts';
import { startFayePlant } from './comet/faye-plant.ts';

const CHANNELS = Array.from({ length: 18 }, (_, i) => `Boiler${i}_Temperature`);

compare('faye over WebSocket', {
  startPlant: startFayePlant,
  createPeer: (origin, browser) => new FayePeer(origin, browser),
  objects: {
    channel: [...CHANNELS, 'Sum(1)', 'a-b_c~d!e$f@g'],
    // Names that cannot be channels of this server.
    service: ['H.Kotolňa.Výkon', 'S.100%', 'S.a b/c?d', 'S."quoted"', 'S.{name}', 'S.1'],
  },
  connectionType: 'COMET_WEBSOCKET',
  // Directly: peers and server agree with each other.
  ways: playsAll ? ['direct', 'auto'] : ['auto'],
});
