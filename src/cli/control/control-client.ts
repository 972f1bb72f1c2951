/**
 * The client's side of the control socket: each function sends one request. They throw D2S_ERR_CONTROL if nothing
 * listens there and if the answer is not a sidecar's, and the sidecar's own code if it refuses.
 */

import { lstatSync } from 'node:fs';
import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Summary } from '../../archive/compare.ts';
import { describeErrno, ERROR_CODES, type ErrorCode, SidecarError } from '../../base/errors.ts';
import { platform } from '../../base/platform/platform.ts';
import { ControlError, RELOADED, SERVER_NAME, STATUS, type TopDocument } from './protocol.ts';

/** Long for a local answer, but bounded: a hanging sidecar must not hang its caller. */
const ANSWER_TIMEOUT_MS = 5_000;
const RELOAD_TIMEOUT_MS = 60_000;
/** Long, since the JVM first stops all its threads. */
const THREADS_TIMEOUT_MS = 20_000;
/** A mail server may delay its answers. */
const ALERT_TIMEOUT_MS = 30_000;
/** More than the largest report: 64 Mi characters of up to four bytes. */
const MAX_ANSWER_BYTES = 300_000_000;

const HEALTH = z.object({ status: STATUS, isReady: z.boolean() });
const RELOAD = z.object({ status: STATUS, reload: RELOADED });
const ALERT_TEST = z.array(z.object({ channel: z.string(), isSent: z.boolean(), text: z.string() })).readonly();
const PROBLEM = z.object({
  detail: z.string(),
  code: z.custom<ErrorCode>((code) => Object.hasOwn(ERROR_CODES, String(code))).catch('D2S_ERR_CONTROL'),
});

type Path = `${'GET' | 'POST'} /${string}`;

export const requestStatus = (socket: string) => fetchJson(socket, 'GET /status', STATUS);

/** `command`: e.g. `/drain`; resolves to the status after it. */
export const requestCommand = (socket: string, command: `/${string}`, timeoutMs?: number) =>
  fetchJson(socket, `POST ${command}`, STATUS, timeoutMs);

/** `isReady` is the answer of `/readyz`. */
export const requestHealth = (socket: string) => fetchJson(socket, 'GET /health', HEALTH);

export const requestReload = (socket: string) => fetchJson(socket, 'POST /reload', RELOAD, RELOAD_TIMEOUT_MS);

export const requestReport = (socket: string, includesUsers: boolean, maxBytes?: number) =>
  fetchText(socket, `GET /report?users=${includesUsers}`, ANSWER_TIMEOUT_MS, maxBytes);

export const requestThreads = (socket: string) => fetchText(socket, 'GET /threads', THREADS_TIMEOUT_MS);

export const requestSummary = async (socket: string, seconds: number) =>
  JSON.parse(await fetchText(socket, `GET /summary?seconds=${seconds}`, RELOAD_TIMEOUT_MS)) as Summary;

export const requestAlertTest = (socket: string) =>
  fetchJson(socket, 'POST /alerts/test', ALERT_TEST, ALERT_TIMEOUT_MS);

export const requestTop = async (socket: string) => JSON.parse(await fetchText(socket, 'GET /top')) as TopDocument;

/** Asks the sidecar to stop. `gone` resolves when its process has ended (true) or the deadline has passed (false). */
export async function requestShutdown(socketPath: string, graceMs: number) {
  const response = await send(socketPath, 'POST /shutdown', ANSWER_TIMEOUT_MS);
  const chunks = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const first = await chunks.next().catch(() => undefined);
  const status = parseAs(STATUS, String(first?.value), socketPath);
  response.socket.setTimeout(0);
  // The body ends when the process does.
  const isEnded = () => true;
  const ended = chunks.next().then(isEnded, isEnded);
  const gone = Promise.race([ended, delay(status.stopDeadlineMs + graceMs, false, { ref: false })]);
  return { status, gone: gone.finally(() => response.destroy()) };
}

async function fetchJson<T>(socketPath: string, path: Path, schema: z.ZodType<T>, timeoutMs?: number): Promise<T> {
  return parseAs(schema, await fetchText(socketPath, path, timeoutMs), socketPath);
}

async function fetchText(
  socketPath: string,
  path: Path,
  timeoutMs = ANSWER_TIMEOUT_MS,
  maxBytes = MAX_ANSWER_BYTES,
): Promise<string> {
  const response = await send(socketPath, path, timeoutMs);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    // The timeout applies to each chunk: the sidecar writes a document while it serves traffic.
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBytes) throw new ControlError(`${socketPath}: the answer is larger than ${maxBytes} bytes`);
    }
  } catch (cause) {
    if (cause instanceof ControlError) throw cause;
    throw new ControlError(`${socketPath}: the answer was cut off: ${describeErrno(cause)}`, cause);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  if (response.statusCode === 200) return text;
  const { code, detail } = parseAs(PROBLEM, text, socketPath);
  throw new SidecarError(code, `${socketPath}: ${detail}`);
}

function send(socketPath: string, path: Path, timeout: number): Promise<http.IncomingMessage> {
  const [method, target] = path.split(' ');
  const address = platform.controlAddressOf(socketPath);
  return new Promise((resolve, reject) => {
    const request = http.request({ socketPath: address, method, path: target, agent: false, timeout });
    request.on('response', (response) => {
      if (response.headers.server === SERVER_NAME) return resolve(response);
      request.destroy(notASidecar(socketPath));
    });
    request.on('timeout', () => request.destroy(new ControlError(`${socketPath}: no answer`)));
    request.on('error', (cause) => reject(cause instanceof ControlError ? cause : explain(socketPath, cause)));
    request.end();
  });
}

function explain(socketPath: string, cause: Error): ControlError {
  const code = describeErrno(cause);
  // Not HTTP: another program, or a sidecar of an earlier version.
  if (code.startsWith('HPE_')) return notASidecar(socketPath);
  const isFile = code === 'ECONNREFUSED' && lstatSync(socketPath, { throwIfNoEntry: false })?.isSocket() === false;
  const reason = isFile ? 'is no socket, expected the control socket of a sidecar' : REASONS[code];
  return new ControlError(`${socketPath}: ${reason ?? `cannot be reached: ${code}`}`, cause);
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist: no sidecar runs with this control socket',
  ECONNREFUSED: 'nobody listens there: the sidecar has ended',
  EACCES: 'this user may not open it',
  ECONNRESET: 'closed without an answer',
};

function parseAs<T>(schema: z.ZodType<T>, json: string, socketPath: string): T {
  try {
    return schema.parse(JSON.parse(json));
  } catch {
    throw notASidecar(socketPath);
  }
}

function notASidecar(socketPath: string): ControlError {
  return new ControlError(
    `${socketPath}: did not answer like a d2-sidecar of this version: run the command of the version that runs`,
  );
}
