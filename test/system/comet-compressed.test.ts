/** The real `cometd` client with compression in both directions: the sidecar counts what the peers count. */
import { expect } from 'vitest';
import type { PerMessageDeflateOptions } from 'ws';
import { startCometdPlant } from '../support/comet/cometd-plant.ts';
import { startWebSocketPlant } from '../support/comet/websocket-plant.ts';
import { compare } from './comet/comparison.ts';
import { compressing } from './comet/compressing.ts';

const OBJECTS = {
  channel: Array.from({ length: 18 }, (_, i) => `H.Turbine${i}.Speed`),
  service: ['H.Kotolňa.Výkon', 'S.100%', 'S.a b/c?d', 'S.{name}', 'S.1', 'S.2'],
};

/** Repeats the list's items without end. */
function taking<T>(...list: readonly T[]): () => T {
  let taken = 0;
  return () => {
    taken += 1;
    return list[taken % list.length] as T;
  };
}

// Extensions that clients offer; the server accepts all, and compresses everything once agreed.
const nextDeflate = taking<PerMessageDeflateOptions | false>(
  { threshold: 0 },
  { threshold: 0, serverNoContextTakeover: true, clientNoContextTakeover: true },
  { threshold: 0, serverNoContextTakeover: true },
  { threshold: 150, serverMaxWindowBits: 9, clientMaxWindowBits: 10 },
  false,
);

compare('cometd over compressed WebSocket', {
  startPlant: () => startWebSocketPlant({ deflate: { threshold: 0 } }),
  nextClient: () => ({ transport: 'websocket', webSocket: { perMessageDeflate: nextDeflate() } }),
  objects: OBJECTS,
  connectionType: 'COMET_WEBSOCKET',
  onArrival: ({ extensions }) => {
    expect([...extensions].sort()).toEqual([
      '',
      'permessage-deflate',
      'permessage-deflate; server_max_window_bits=9; client_max_window_bits=10',
      'permessage-deflate; server_no_context_takeover',
      'permessage-deflate; server_no_context_takeover; client_no_context_takeover',
    ]);
  },
});

const nextCoding = taking('gzip', 'deflate', 'br');

compare('cometd over compressed long-polling', {
  startPlant: () => startCometdPlant(compressing),
  nextClient: () => ({ transport: 'long-polling', contentCoding: nextCoding() }),
  objects: OBJECTS,
  connectionType: 'COMET_LONG_POLLING',
});
