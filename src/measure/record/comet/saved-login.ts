/**
 * A Comet login and its clients in the state file. Of a `clientId` only the keyed hash is saved. Pending calls and the
 * time of the last connect's answer are not saved, since the restart interrupts them.
 */
import type { ArchiveReader } from '../../../state/archive/archive-reader.ts';
import type { ArchiveWriter } from '../../../state/archive/archive-writer.ts';
import { loadToken, saveToken } from '../../sessions/saved-token.ts';
import type { CometClient } from './comet-client.ts';

export interface SavedClient {
  readonly token: string;
  /** What it monitors: from the requested channel or name to the object's name. */
  readonly monitorings: readonly (readonly [string, string])[];
  readonly couldUseWebSocket: boolean;
  readonly hasFallenBack: boolean;
  readonly adviceIntervalMs: number;
  /** When its last connection closed. A connected client has the moment of saving: it has no connection now. */
  readonly goneSinceNs: number;
}

export interface SavedLogin {
  readonly hasCookie: boolean;
  readonly goneSinceNs: number;
  readonly clients: readonly SavedClient[];
}

export function saveLogin(
  out: ArchiveWriter,
  login: {
    readonly hasCookie: boolean;
    readonly goneSinceNs: number;
    readonly clients: ReadonlySet<CometClient>;
  },
): void {
  out.flag(login.hasCookie);
  out.momentIfAny(login.goneSinceNs);
  out.count(login.clients.size);
  for (const client of login.clients) saveClient(out, client);
}

export function loadLogin(input: ArchiveReader): SavedLogin {
  const hasCookie = input.flag();
  const goneSinceNs = input.momentIfAny();
  return { hasCookie, goneSinceNs, clients: Array.from({ length: input.count() }, () => loadClient(input)) };
}

export function saveClient(out: ArchiveWriter, client: CometClient): void {
  saveToken(out, client.token);
  out.count(client.monitorings.size);
  for (const [key, name] of client.monitorings) {
    out.name(key);
    out.name(name);
  }
  out.flag(client.couldUseWebSocket);
  out.flag(client.hasFallenBack);
  out.double(client.adviceIntervalMs);
  out.momentIfAny(client.goneSinceNs);
}

export function loadClient(input: ArchiveReader): SavedClient {
  const token = loadToken(input);
  const monitorings = Array.from({ length: input.count() }, () => [input.name(), input.name()] as const);
  const couldUseWebSocket = input.flag();
  const hasFallenBack = input.flag();
  const adviceIntervalMs = input.double();
  const goneSinceNs = input.momentIfAny();
  return {
    ...{ token, monitorings, couldUseWebSocket, hasFallenBack, adviceIntervalMs },
    goneSinceNs: Number.isFinite(goneSinceNs) ? goneSinceNs : input.savedAtNs,
  };
}
