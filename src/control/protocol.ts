/**
 * What is said over the control socket: the client sends one word and a line end, the server answers with one line of JSON
 * and ends the connection (after `shutdown` it is the end of the process that ends it, which is how the client knows).
 */
export const COMMANDS = ['status', 'drain', 'shutdown'] as const;

export type ControlCommand = (typeof COMMANDS)[number];

/** Bytes that a command may take, line end included. */
export const MAX_COMMAND_BYTES = 256;

/** Bytes that an answer may take. */
export const MAX_ANSWER_BYTES = 4_096;

export interface ControlStatus {
  readonly pid: number;
  /** `0.0.0.0:8081`, as really bound. */
  readonly listen: string;
  readonly monitor: string;
  readonly isDraining: boolean;
  readonly openExchanges: number;
  /** How long a shutdown may take. */
  readonly stopDeadlineMs: number;
}

export type ControlAnswer =
  | { readonly kind: 'ok'; readonly status: ControlStatus }
  | { readonly kind: 'refused'; readonly reason: string };

export function isControlCommand(text: string): text is ControlCommand {
  return (COMMANDS as readonly string[]).includes(text);
}

/** Undefined for anything but an answer: whoever listens there is not a sidecar of this version. */
export function parseAnswer(line: string): ControlAnswer | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    // Not JSON, so not an answer; there is nothing more to tell about it.
    return undefined;
  }
  const answer = value as {
    kind?: unknown;
    reason?: unknown;
    status?: Partial<Record<keyof ControlStatus, unknown>>;
  } | null;
  if (answer?.kind === 'refused' && typeof answer.reason === 'string')
    return { kind: 'refused', reason: answer.reason };
  return answer?.kind === 'ok' && isStatus(answer.status) ? { kind: 'ok', status: answer.status } : undefined;
}

function isStatus(value: Partial<Record<keyof ControlStatus, unknown>> | undefined): value is ControlStatus & object {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof value.pid === 'number' &&
    typeof value.listen === 'string' &&
    typeof value.monitor === 'string' &&
    typeof value.isDraining === 'boolean' &&
    typeof value.openExchanges === 'number' &&
    typeof value.stopDeadlineMs === 'number'
  );
}
