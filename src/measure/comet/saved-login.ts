/**
 * A Comet login and its clients in the state file. Of a `clientId` only the keyed hash is saved. Pending calls and the
 * time of the last connect's answer are not saved, since the restart interrupts them.
 */
import type { SavedFields, SavedRecord } from '../../state/saved-record.ts';
import type { BayeuxClient } from './bayeux-client.ts';

export type SavedClient = ReturnType<typeof loadClient>;
export type SavedLogin = ReturnType<typeof loadLogin>;

export function saveClient(client: BayeuxClient): SavedFields {
  const { token, monitorings, couldUseWebSocket, hasFallenBack, adviceIntervalMs, goneSinceNs } = client;
  return {
    ...{ token, couldUseWebSocket, hasFallenBack, adviceIntervalMs, goneSinceNs },
    monitorings: Array.from(monitorings, ([key, name]) => ({ key, name })),
  };
}

export function loadLogin(saved: SavedRecord) {
  return {
    hasCookie: saved.flag('hasCookie'),
    goneSinceNs: saved.momentIfAny('goneSinceNs'),
    clients: saved.records('clients').map(loadClient),
  };
}

export function loadClient(saved: SavedRecord) {
  return {
    token: saved.textOrThrow('token'),
    monitorings: saved
      .records('monitorings')
      .map((one) => ({ key: one.textOrThrow('key'), name: one.textOrThrow('name') })),
    couldUseWebSocket: saved.flag('couldUseWebSocket'),
    hasFallenBack: saved.flag('hasFallenBack'),
    adviceIntervalMs: saved.number('adviceIntervalMs'),
    // For a client that was connected: the moment of saving.
    goneSinceNs: saved.has('goneSinceNs') ? saved.moment('goneSinceNs') : saved.savedAtNs,
  };
}
