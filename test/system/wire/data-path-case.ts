import type { Observation } from './observation.ts';
import type { RawClient } from './raw-client.ts';
import type { UpstreamScript } from './scripted-upstream.ts';
import type { Script } from './steps.ts';

/** What the client does, from connecting to the moment at which both ends are looked at. */
export type ClientScript = Script<RawClient>;

/** One case of HTTP over one client connection: both ends are scripted, so what lies between them can be exchanged. */
export interface DataPathCase {
  readonly name: string;
  /** Statuses that the client must see, interim ones included, in order. */
  readonly statuses: readonly number[];
  readonly upstream: UpstreamScript;
  readonly client: ClientScript;
  /** Facts that hold on every path on which the case is played, beside being equal to the direct one. */
  readonly verify?: (seen: Observation) => void;
  /** True for what the relay hands over: then hop-by-hop fields and chunk sizes may change also on the path `relay`. */
  readonly isIrregular?: boolean;
  /** Why this case cannot be the same without the sidecar: it is played through it only, and `verify` says what holds. */
  readonly sidecarOnly?: string;
  /** Why a path changes this: the case is skipped there, and listed. */
  readonly knownDifference?: { readonly relay?: string; readonly gateway?: string };
  /** For large bodies; the default is `DEADLINE_MS`. */
  readonly deadlineMs?: number;
}

/** A case ends within milliseconds; this is when a hanging one is given up, with what both ends have seen so far. */
export const DEADLINE_MS = 3_000;
