/** Asks a running sidecar over its control socket, and the commands that only ask for one thing. */
import { constants } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { systemClock } from '../base/clock.ts';
import { attemptTimeoutMs } from '../base/dial.ts';
import { ConfigError, SidecarError } from '../base/errors.ts';
import { SILENT } from '../base/logger.ts';
import { platform } from '../base/platform/platform.ts';
import { showProgress } from '../base/progress.ts';
import { escapeHidden } from '../base/shown-text.ts';
import { describeFileError, openTrusted } from '../base/trusted-file.ts';
import { removeOwn } from '../base/write-aside.ts';
import type { HostPort } from '../config/config.ts';
import type { Environment } from '../config/environment.ts';
import { formatHostPort } from '../config/host-port.ts';
import { loadControlSocket } from '../config/load-config.ts';
import { cleanDump, summariseThreads } from '../jvm/thread-dump.ts';
import type { Run, Selection } from './command-line.ts';
import * as control from './control/control-client.ts';
import { findSidecar } from './control/find-sidecar.ts';
import { ControlError, type ControlStatus } from './control/protocol.ts';
import { EXIT_FAILED, EXIT_USAGE, type Output } from './output.ts';

/** The same timeout as for the control socket; probes of containers give up earlier. */
const ANSWER_TIMEOUT_MS = 5_000;
const BACKUP_TIMEOUT_MS = 600_000;
const REPORT_MODE = 0o600;
const NEW_FILE = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY;
/** A JVM that stands still opens its attach socket late. */
const DUMP_TIMEOUT_MS = 70_000;
const READ_TIMEOUT_MS = 5_000;

/**
 * Sends `request` to the control socket of the selected sidecar. Throws ConfigError if several sidecars run,
 * D2S_ERR_CONTROL if none does, and what `request` throws.
 */
export async function askSidecar<T>(
  flags: Selection,
  env: Environment,
  output: Output,
  request: (socket: string) => Promise<T>,
): Promise<T> {
  return await showProgress(output.err, 'waiting for the sidecar', findSocket(flags, env).then(request));
}

async function findSocket(flags: Selection, env: Environment): Promise<string> {
  const { control, pid } = flags;
  if (control !== undefined) return control;
  // A process id on the command line is more specific than a socket path that is set for everybody.
  const socket = pid === undefined ? await loadControlSocket({ flags, env }) : undefined;
  return socket ?? (await findSidecar(pid));
}

/** Exit code 1 if a receiver did not take the message. */
export const testAlerts: Run<'alerts'> = async ({ flags }, env, output) => {
  const results = await askSidecar(flags, env, output, control.requestAlertTest);
  for (const { channel, isSent, text } of results) {
    if (isSent) output.out(`${channel}: sent, the receiver answered: ${text}\n`);
    else output.err(`d2-sidecar: ${channel}: not sent: ${text}\n`);
  }
  return results.every(({ isSent }) => isSent) ? 0 : EXIT_FAILED;
};

export const silence: Run<'silence'> = async ({ flags, ms, text }, env, output) => {
  const command = `/alerts/silence?ms=${ms}&text=${encodeURIComponent(text)}` as const;
  const { pid } = await askSidecar(flags, env, output, (socket) => control.requestCommand(socket, command));
  const until = new Date(systemClock.epochMs() + ms).toISOString().slice(0, 16).replace('T', ' ');
  output.out(`d2-sidecar ${pid}: ${ms === 0 ? 'messages are sent again' : `no messages until ${until} UTC`}\n`);
  return 0;
};

export const note: Run<'note'> = async ({ flags, text }, env, output) => {
  const command = `/note?text=${encodeURIComponent(text)}` as const;
  const { pid } = await askSidecar(flags, env, output, (socket) => control.requestCommand(socket, command));
  output.out(`d2-sidecar ${pid}: noted\n`);
  return 0;
};

/** The sidecar writes the file, with the rights of its user. */
export const backup: Run<'history'> = async ({ flags, file }, env, output) => {
  const target = path.resolve(file);
  const command = `/history/backup?file=${encodeURIComponent(target)}` as const;
  await askSidecar(flags, env, output, (socket) => control.requestCommand(socket, command, BACKUP_TIMEOUT_MS));
  output.out(`history copied to ${target}\n`);
  return 0;
};

/** Exit code 64 for an unusable configuration, 1 for an unreadable file; both change nothing. */
export const reload: Run<'reload'> = async ({ flags }, env, output) => {
  const { status, reload: answer } = await askSidecar(flags, env, output, control.requestReload);
  if (answer.kind === 'applied') {
    const changed = answer.changed.length === 0 ? 'nothing changed' : `changed: ${answer.changed.join(', ')}`;
    output.out(`d2-sidecar ${status.pid} reloaded its configuration, ${changed}\n`);
    if (answer.waiting.length > 0) output.out(`needs a restart: ${answer.waiting.join(', ')}\n`);
    return 0;
  }
  for (const problem of answer.problems) output.err(`d2-sidecar: ${problem}\n`);
  output.err(`d2-sidecar: ${status.pid} keeps its configuration\n`);
  return answer.code === 'D2S_ERR_CONFIG' ? EXIT_USAGE : EXIT_FAILED;
};

/**
 * The probe for a container that has neither a shell nor curl. It asks over the control socket, which works with any
 * flags, ports, certificates and users; with `--monitor` it asks over HTTP, as any client would.
 *
 * Exit code 0 if the sidecar is alive, or with `checksReadiness` if it is ready, as `/livez` and `/readyz` do;
 * otherwise 1. A starting sidecar is not found.
 */
export const health: Run<'health'> = async ({ flags, monitor, checksReadiness }, env, output) => {
  const answer =
    monitor === undefined
      ? await askSidecar(flags, env, output, askSocket)
      : await showProgress(output.err, 'waiting for an answer', askMonitor(monitor, checksReadiness));
  if (checksReadiness && !answer.isReady) {
    output.err(`d2-sidecar: ${answer.who} is not ready: ${answer.state}\n`);
    return EXIT_FAILED;
  }
  output.out(`${answer.who} ${checksReadiness ? 'is ready' : 'is alive'}: ${answer.state}\n`);
  return 0;
};

async function askSocket(socket: string) {
  const { status, isReady } = await control.requestHealth(socket);
  const { pid, state } = status;
  // Serving but not ready: monitor.readyWithUpstream is on.
  const isWaiting = state === 'serving' && !isReady;
  return { who: `d2-sidecar ${pid}`, state: isWaiting ? 'its upstream cannot be reached' : state, isReady };
}

/** The answers of `/livez` and `/readyz`, by status. */
const HEALTH: Readonly<Record<number, string>> = { 200: '{"status":"ok"}', 503: '{"status":"unavailable"}' };
const MAX_HEALTH_CHARS = 100;

function askMonitor(address: HostPort, checksReadiness: boolean): ReturnType<typeof askSocket> {
  const who = formatHostPort(address);
  const path = checksReadiness ? '/readyz' : '/livez';
  return new Promise((resolve, reject) => {
    const fail = (reason: string, cause?: unknown) => reject(new ControlError(`${who}${path}: ${reason}`, cause));
    const options = { timeout: ANSWER_TIMEOUT_MS, autoSelectFamilyAttemptTimeout: attemptTimeoutMs(ANSWER_TIMEOUT_MS) };
    const request = http.get({ ...address, path, agent: false, ...options }, (response) => {
      const { statusCode = 0 } = response;
      let text = '';
      response.setEncoding('latin1').on('data', (part: string) => {
        if (text.length < MAX_HEALTH_CHARS) text += part;
      });
      response.on('close', () => {
        // The clients' port may answer 200 as well: with a page of the server.
        if (text === HEALTH[statusCode]) resolve({ who, state: String(statusCode), isReady: statusCode === 200 });
        else fail(`answered ${statusCode}, but not as a sidecar; is this its address for monitoring?`);
      });
    });
    request.on('timeout', () => request.destroy(new Error('no answer')));
    request.on('error', (error) => {
      const reason = 'code' in error ? error.code : error.message;
      fail(`cannot be reached: ${reason}; is a sidecar running, and is this its address for monitoring?`, error);
    });
  });
}

/** One JSON document, for a support ticket. Throws ConfigError if the file already exists, D2S_ERR_REPORT if it cannot be written. */
export const report: Run<'report'> = async ({ flags, file, includesUsers }, env, output) => {
  const { pid, text } = await askSidecar(flags, env, output, async (socket) => {
    const status = await control.requestStatus(socket);
    return { pid: status.pid, text: await control.requestReport(socket, includesUsers) };
  });
  // Indented for people. Doing this in the sidecar would make its traffic wait.
  const document = `${escapeHidden(JSON.stringify(JSON.parse(text), undefined, 2))}\n`;
  if (file === undefined) {
    output.out(document);
    return 0;
  }
  await writeNew(file, document);
  const whom = includesUsers ? 'with user names and addresses' : 'without user names and addresses';
  output.out(`d2-sidecar ${pid}: report written to ${file}, ${Buffer.byteLength(document)} bytes, ${whom}\n`);
  return 0;
};

async function writeNew(file: string, text: string): Promise<void> {
  try {
    const { handle, realPath } = await openTrusted(file, NEW_FILE, REPORT_MODE);
    try {
      await handle.writeFile(text);
    } catch (cause) {
      // Half a document is useless, and would block the next attempt.
      await removeOwn(realPath).catch(() => undefined);
      throw cause;
    } finally {
      await handle.close();
    }
  } catch (cause) {
    const code = describeFileError(cause);
    if (code === 'EEXIST') throw new ConfigError(`--out: ${file} already exists, expected the path of a new file`);
    throw new SidecarError('D2S_ERR_REPORT', `${file} cannot be written: ${code}`, { cause });
  }
}

/**
 * A thread dump of the application server's JVM, which the sidecar takes; a summary comes first. Where the sidecar may
 * not, root's command takes it by itself, as root's `jcmd` does. Throws a code of the JVM if its socket cannot be reached.
 */
export const threads: Run<'threads'> = async ({ flags }, env, output) => {
  const text = await askSidecar(flags, env, output, (socket) =>
    control.requestThreads(socket).catch((refused: unknown) => dumpAsRoot(socket, refused)),
  );
  const dump = cleanDump(text);
  output.out(`${summariseThreads(dump)}\n${dump}`);
  return 0;
};

async function dumpAsRoot(socket: string, refused: unknown): Promise<string> {
  if (!(refused instanceof SidecarError) || platform.userId() !== 0) throw refused;
  const { server } = await control.requestStatus(socket);
  if (server === undefined) throw refused;
  try {
    return await dumpOf(server);
  } catch (cause) {
    if (!(cause instanceof SidecarError)) throw cause;
    throw new SidecarError(cause.code, `${refused.message.replace(/\.$/, '')}; as root: ${cause.message}`, { cause });
  }
}

async function dumpOf({ host, port, pid, user }: NonNullable<ControlStatus['server']>): Promise<string> {
  const { createLocalSource } = await import('../jvm/local-source.ts');
  const jvm = { attach: true, timeoutMs: READ_TIMEOUT_MS, pid, user };
  const source = createLocalSource({ config: { jvm, upstream: { host, port } }, clock: systemClock, logger: SILENT });
  try {
    return await source.dumpThreads(AbortSignal.timeout(DUMP_TIMEOUT_MS));
  } finally {
    source.close();
  }
}
