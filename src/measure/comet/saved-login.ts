/**
 * A Comet login and its clients in the state file. Of a `clientId` only the keyed hash is saved. Pending calls and the
 * time of the last connect's answer are not saved, since the restart interrupts them.
 */
import type { SavedFields, SavedRecord } from '../../state/saved-record.ts';
import type { BayeuxClient } from './bayeux-client.ts';

export interface SavedClient {
  readonly token: string;
  /** The monitored objects: from the requested channel or name to the object's name. */
  readonly monitorings: readonly (readonly [string, string])[];
  readonly couldUseWebSocket: boolean;
  readonly hasFallenBack: boolean;
  readonly adviceIntervalMs: number;
  /** When its last connection closed. For a client that was connected: the moment of saving. */
  readonly goneSinceNs: number;
}

export interface SavedLogin {
  readonly hasCookie: boolean;
  readonly goneSinceNs: number;
  readonly clients: readonly SavedClient[];
}

export function saveClient(client: BayeuxClient): SavedFields {
  const { token, monitorings, couldUseWebSocket, hasFallenBack, adviceIntervalMs, goneSinceNs } = client;
  return {
    ...{ token, couldUseWebSocket, hasFallenBack, adviceIntervalMs, goneSinceNs },
    monitorings: Array.from(monitorings, ([key, name]) => ({ key, name })),
  };
}

export function loadLogin(saved: SavedRecord): SavedLogin {
  return {
    hasCookie: saved.flag('hasCookie'),
    goneSinceNs: saved.momentIfAny('goneSinceNs'),
    clients: saved.records('clients').map(loadClient),
  };
}

export function loadClient(saved: SavedRecord): SavedClient {
  return {
    token: saved.textOrThrow('token'),
    monitorings: saved.records('monitorings').map((one) => [one.textOrThrow('key'), one.textOrThrow('name')]),
    couldUseWebSocket: saved.flag('couldUseWebSocket'),
    hasFallenBack: saved.flag('hasFallenBack'),
    adviceIntervalMs: saved.number('adviceIntervalMs'),
    goneSinceNs: saved.has('goneSinceNs') ? saved.moment('goneSinceNs') : saved.savedAtNs,
  };
}
