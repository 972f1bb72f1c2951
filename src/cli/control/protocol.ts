/**
 * What goes over the control socket: HTTP/1.1, one request for each connection. Bodies are JSON, a thread dump is text,
 * and a refusal is a problem (base/problem.ts). control-server.ts lists the requests.
 */
import { z } from 'zod';
import { SidecarError } from '../../base/errors.ts';
import type { CallEntry, SlowEntry } from '../../measure/record/running-calls.ts';
import type { Live } from '../../page/live-data.ts';

/** The field `Server` of every answer, by which a client knows a sidecar. */
export const SERVER_NAME = 'd2-sidecar';

export class ControlError extends SidecarError {
  constructor(message: string, cause?: unknown) {
    super('D2S_ERR_CONTROL', message, { cause });
  }
}

export const STATUS = z.object({
  pid: z.number(),
  listen: z.string(),
  monitor: z.string(),
  /** `serving`, `draining`, `stopping`; see lifecycle.ts. */
  state: z.string(),
  openExchanges: z.number(),
  openWebSockets: z.number(),
  stopDeadlineMs: z.number(),
  /** Time left until the stop deadline; absent until a stop is requested. */
  leftMs: z.number().optional(),
  /** Where the application server's JVM is found. */
  server: z
    .object({ host: z.string(), port: z.number(), pid: z.number().optional(), user: z.string().optional() })
    .optional(),
});

const TEXTS = z.array(z.string()).readonly();

export const RELOADED = z.discriminatedUnion('kind', [
  /** Names of keys: those in force from now on, and those that wait for a restart. */
  z.object({ kind: z.literal('applied'), changed: TEXTS, waiting: TEXTS }),
  /** Nothing has changed. `code` as in docs/errors.md; `problems`: one line each, as at a start. */
  z.object({ kind: z.literal('refused'), code: z.string().optional(), problems: TEXTS }),
]);

export type ControlStatus = Readonly<z.infer<typeof STATUS>>;
export type ReloadAnswer = Readonly<z.infer<typeof RELOADED>>;

export interface TopDocument {
  readonly live: Live;
  readonly calls: readonly CallsOfApplication[];
}

export interface CallsOfApplication {
  readonly name: string;
  /** Number of running calls; `running` has only the oldest. */
  readonly total: number;
  readonly running: readonly CallEntry[];
  readonly slowest: readonly SlowEntry[];
}
