/**
 * The protocol of the control socket. The client sends one word and a line feed. The server answers with one line of
 * JSON and closes the connection. For `report`, `threads` and `top`, a document follows that line. After `shutdown`,
 * the connection closes when the process ends, which is how the client notices.
 */
import { z } from 'zod';
import { SidecarError } from '../../base/errors.ts';

const COMMANDS = [
  'status',
  'health',
  'report',
  'report-with-users',
  'threads',
  'top',
  'drain',
  'reload',
  'shutdown',
] as const;

export type ControlCommand = (typeof COMMANDS)[number];

/** Largest command in bytes, line feed included. */
export const MAX_COMMAND_BYTES = 256;

export const MAX_ANSWER_BYTES = 65_536;

/** Largest report after its answer, in bytes: at most four per character written. */
export const MAX_REPORT_BYTES = 268_435_456;

export class ControlError extends SidecarError {
  constructor(message: string, cause?: unknown) {
    super('D2S_ERR_CONTROL', message, { cause });
  }
}

const STATUS = z.object({
  pid: z.number(),
  listen: z.string(),
  monitor: z.string(),
  /** `serving`, `draining`, `stopping`; see lifecycle.ts. */
  state: z.string(),
  isDraining: z.boolean(),
  openExchanges: z.number(),
  openWebSockets: z.number(),
  stopDeadlineMs: z.number(),
  /** Time left until the stop deadline; absent until a stop is requested. */
  leftMs: z.number().optional(),
});

const TEXTS = z.array(z.string()).readonly();
const RELOAD = z.discriminatedUnion('kind', [
  /** Names of keys: those in force from now on, and those that wait for a restart. */
  z.object({ kind: z.literal('applied'), changed: TEXTS, waiting: TEXTS }),
  /** Nothing has changed. `code` as in docs/errors.md; `problems`: one line each, as at a start. */
  z.object({ kind: z.literal('refused'), code: z.string().optional(), problems: TEXTS }),
]);

const ANSWER = z.discriminatedUnion('kind', [
  /** `reload` and `isReady` (the answer of `/readyz`) are in the answers to `reload` and `health` only. */
  z.object({ kind: z.literal('ok'), status: STATUS, reload: RELOAD.optional(), isReady: z.boolean().optional() }),
  z.object({ kind: z.literal('refused'), reason: z.string() }),
]);

export type ControlStatus = Readonly<z.infer<typeof STATUS>>;
export type ReloadAnswer = Readonly<z.infer<typeof RELOAD>>;
export type ControlAnswer = Readonly<z.infer<typeof ANSWER>>;

export function isControlCommand(text: string): text is ControlCommand {
  return (COMMANDS as readonly string[]).includes(text);
}

/** Undefined if it is not an answer: the listener is not a sidecar of this version. */
export function parseAnswer(line: string): ControlAnswer | undefined {
  try {
    return ANSWER.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
