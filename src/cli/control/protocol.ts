/**
 * The protocol of the control socket. The client sends one word and a line feed. The server answers with one line of
 * JSON and closes the connection. After `report`, a second line with the document comes before that. After `shutdown`,
 * the connection closes when the process ends, which is how the client notices.
 */
export const COMMANDS = ['status', 'health', 'report', 'report-with-users', 'drain', 'reload', 'shutdown'] as const;

export type ControlCommand = (typeof COMMANDS)[number];

/** Largest command in bytes, line feed included. */
export const MAX_COMMAND_BYTES = 256;

export const MAX_ANSWER_BYTES = 65_536;

/** Largest report after its answer, in bytes: four for each character that the sidecar writes at most. */
export const MAX_REPORT_BYTES = 268_435_456;

export interface ControlStatus {
  readonly pid: number;
  /** As really bound, e.g. `0.0.0.0:8081`. */
  readonly listen: string;
  readonly monitor: string;
  /** `serving`, `draining`, `stopping`; see lifecycle.ts. */
  readonly state: string;
  readonly isDraining: boolean;
  readonly openExchanges: number;
  readonly openWebSockets: number;
  /** How long a shutdown may take. */
  readonly stopDeadlineMs: number;
  /** Time left until the stop deadline; absent until a stop is requested. */
  readonly leftMs?: number;
}

export type ReloadAnswer =
  /** Names of keys: those in force from now on, and those that wait for a restart. */
  | { readonly kind: 'applied'; readonly changed: readonly string[]; readonly waiting: readonly string[] }
  /** Nothing has changed. `code` as in docs/errors.md; `problems`: one line each, as at a start. */
  | { readonly kind: 'refused'; readonly code?: string | undefined; readonly problems: readonly string[] };

export type ControlAnswer =
  /** `reload` and `isReady` are in the answers to `reload` and `health` only. */
  | {
      readonly kind: 'ok';
      readonly status: ControlStatus;
      readonly reload?: ReloadAnswer | undefined;
      /** The answer of `/readyz`. */
      readonly isReady?: boolean | undefined;
    }
  | { readonly kind: 'refused'; readonly reason: string };

export function isControlCommand(text: string): text is ControlCommand {
  return (COMMANDS as readonly string[]).includes(text);
}

/** Undefined if it is no answer: the listener is not a sidecar of this version. */
export function parseAnswer(line: string): ControlAnswer | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    // Not JSON, so not an answer.
    return undefined;
  }
  const answer = value as {
    kind?: unknown;
    reason?: unknown;
    status?: Partial<Record<keyof ControlStatus, unknown>>;
    reload?: unknown;
    isReady?: unknown;
  } | null;
  if (answer?.kind === 'refused' && typeof answer.reason === 'string')
    return { kind: 'refused', reason: answer.reason };
  if (answer?.kind !== 'ok' || !isStatus(answer.status)) return undefined;
  const { status, reload, isReady } = answer;
  if (typeof isReady === 'boolean') return { kind: 'ok', status, isReady };
  if (reload === undefined) return { kind: 'ok', status };
  return isReloadAnswer(reload) ? { kind: 'ok', status, reload } : undefined;
}

function isReloadAnswer(value: unknown): value is ReloadAnswer {
  const answer = value as Readonly<Record<string, unknown>> | null;
  if (answer?.kind === 'applied') return isTexts(answer.changed) && isTexts(answer.waiting);
  return (
    answer?.kind === 'refused' &&
    isTexts(answer.problems) &&
    (answer.code === undefined || typeof answer.code === 'string')
  );
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isStatus(value: Partial<Record<keyof ControlStatus, unknown>> | undefined): value is ControlStatus & object {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof value.pid === 'number' &&
    typeof value.listen === 'string' &&
    typeof value.monitor === 'string' &&
    typeof value.state === 'string' &&
    typeof value.isDraining === 'boolean' &&
    typeof value.openExchanges === 'number' &&
    typeof value.openWebSockets === 'number' &&
    typeof value.stopDeadlineMs === 'number' &&
    ['number', 'undefined'].includes(typeof value.leftMs)
  );
}
