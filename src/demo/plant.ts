/** The content of the sample control system: its calls, its objects and its users. */
export interface SampleRpc {
  /** Path below `d2/rpc/`, e.g. `interface/E.Boiler/Control/Start`. */
  readonly path: string;
  readonly minMs: number;
  readonly maxMs: number;
  /** Share of calls that end with 500, from 0 to 1. */
  readonly failureShare: number;
}

export const SAMPLE_RPCS: readonly SampleRpc[] = [
  { path: 'E.Boiler/ReadState', minMs: 1, maxMs: 5, failureShare: 0 },
  { path: 'E.Boiler/SetPoint', minMs: 10, maxMs: 30, failureShare: 0.02 },
  { path: 'interface/E.Boiler/Control/Start', minMs: 40, maxMs: 90, failureShare: 0 },
  { path: 'E.Alarms/Acknowledge', minMs: 5, maxMs: 15, failureShare: 0.2 },
  { path: 'java/E.Reports/Daily', minMs: 200, maxMs: 600, failureShare: 0 },
  { path: 'java/interface/E.Reports/Export/ToCsv', minMs: 80, maxMs: 160, failureShare: 0.05 },
  { path: 'japi/P.Balance/Sum', minMs: 2, maxMs: 12, failureShare: 0 },
  { path: 'japi/interface/P.Balance/Year/Close', minMs: 30, maxMs: 50, failureShare: 0.5 },
];

/** An SBA RPC: `GET` downloads as many bytes as `?param=` says, `POST` uploads. */
export interface SampleSba extends SampleRpc {
  readonly method: 'GET' | 'POST';
}

export const SAMPLE_SBAS: readonly SampleSba[] = [
  { method: 'GET', path: 'E.Files/Download', minMs: 2, maxMs: 20, failureShare: 0 },
  { method: 'POST', path: 'E.Files/Upload', minMs: 5, maxMs: 40, failureShare: 0.02 },
  { method: 'GET', path: 'E.Reports/Print', minMs: 300, maxMs: 900, failureShare: 0.1 },
];

export const SAMPLE_OBJECTS: readonly string[] = [
  'H.Boiler.Temperature',
  'H.Boiler.Pressure',
  'H.Turbine.Speed',
  'H.Turbine.Power',
  'H.Tank.Level',
  'H.Grid.Frequency',
  'H.Kotolňa.Výkon',
];

export type SampleCredentials =
  | { readonly kind: 'basic'; readonly user: string; readonly password: string }
  | { readonly kind: 'key'; readonly user: string; readonly key: string };

// Sample credentials of a sample system that listens on this machine only.
export const SAMPLE_ACCOUNTS: readonly SampleCredentials[] = [
  { kind: 'basic', user: 'anna', password: 'anna' },
  { kind: 'basic', user: 'boris', password: 'boris' },
  { kind: 'basic', user: 'žofia', password: 'žofia' },
  { kind: 'key', user: 'historian', key: 'sample-key-historian' },
  { kind: 'key', user: 'robot', key: 'sample-key-robot' },
];

/** A user with a browser, who logs in by the form and holds a Comet connection. */
export interface SampleBrowser {
  readonly user: string;
  readonly password: string;
  readonly transport: 'websocket' | 'long-polling';
}

export const SAMPLE_BROWSERS: readonly SampleBrowser[] = [
  { user: 'eva', password: 'eva', transport: 'websocket' },
  { user: 'ľubomír', password: 'ľubomír', transport: 'websocket' },
  { user: 'dispatcher', password: 'dispatcher', transport: 'long-polling' },
  { user: 'wall-screen', password: 'wall-screen', transport: 'long-polling' },
];

/** The request fields that carry the credentials, e.g. `{ 'x-api-key': '...' }`; Basic as UTF-8 (RFC 7617 §2.1). */
export function createAuthFields(credentials: SampleCredentials): Record<string, string> {
  if (credentials.kind === 'key') return { 'x-api-key': credentials.key };
  return { authorization: `Basic ${Buffer.from(`${credentials.user}:${credentials.password}`).toString('base64')}` };
}
