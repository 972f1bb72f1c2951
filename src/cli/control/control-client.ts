/** The client's side of the control socket: sends one command, reads one answer. */
import net from 'node:net';
import { SidecarError } from '../../base/errors.ts';
import {
  type ControlCommand,
  type ControlStatus,
  MAX_ANSWER_BYTES,
  MAX_REPORT_BYTES,
  parseAnswer,
  type ReloadAnswer,
} from './protocol.ts';
import { isErrno, toErrno } from './socket-folder.ts';

/** Long for a local answer, but bounded: a hanging sidecar must not hang its caller. */
const ANSWER_TIMEOUT_MS = 5_000;

const RELOAD_TIMEOUT_MS = 60_000;

/** Sends one command. Throws D2S_ERR_CONTROL if nothing listens there, it is not a sidecar, or it refuses. */
export async function sendCommand(socketPath: string, command: ControlCommand): Promise<ControlStatus> {
  const { socket, status } = await converse(socketPath, command);
  socket.destroy();
  return status;
}

/** Makes the sidecar read its configuration again. Throws like `sendCommand`. */
export async function requestReload(
  socketPath: string,
): Promise<{ readonly status: ControlStatus; readonly reload: ReloadAnswer }> {
  const { socket, status, reload } = await converse(socketPath, 'reload', RELOAD_TIMEOUT_MS);
  socket.destroy();
  if (reload === undefined) throw new SidecarError('D2S_ERR_CONTROL', `${socketPath}: not the answer of a sidecar`);
  return { status, reload };
}

/** Asks for the health; `isReady` is the answer of `/readyz`. Throws like `sendCommand`. */
export async function requestHealth(
  socketPath: string,
): Promise<{ readonly status: ControlStatus; readonly isReady: boolean }> {
  const { socket, status, isReady } = await converse(socketPath, 'health');
  socket.destroy();
  if (isReady === undefined) throw new SidecarError('D2S_ERR_CONTROL', `${socketPath}: not the answer of a sidecar`);
  return { status, isReady };
}

/** Asks for a report; `text` is one JSON document. Throws like `sendCommand`. */
export async function requestReport(
  socketPath: string,
  hasUsers: boolean,
): Promise<{ readonly status: ControlStatus; readonly text: string }> {
  const { socket, status, behind } = await converse(socketPath, hasUsers ? 'report-with-users' : 'report');
  const fail = (reason: string) => new SidecarError('D2S_ERR_CONTROL', `${socketPath}: ${reason}`);
  const chunks = [behind];
  let chars = 0;
  try {
    // The timeout applies to each chunk: the sidecar writes the report beside its traffic.
    for await (const chunk of socket as AsyncIterable<string>) {
      chunks.push(chunk);
      chars += chunk.length;
      if (chars > MAX_REPORT_BYTES) throw fail(`the report is larger than ${MAX_REPORT_BYTES} bytes`);
    }
  } catch (cause) {
    throw cause instanceof SidecarError ? cause : fail(`the report was broken off: ${toErrno(cause)}`);
  }
  const text = chunks.join('');
  if (!text.endsWith('\n')) throw fail('the report was broken off');
  return { status, text };
}

/** Asks the sidecar to stop. `gone` settles when its process has ended (true) or the time is over (false). */
export async function requestShutdown(
  socketPath: string,
  graceMs: number,
): Promise<{ readonly status: ControlStatus; readonly gone: Promise<boolean> }> {
  const { socket, status } = await converse(socketPath, 'shutdown');
  const gone = new Promise<boolean>((resolve) => {
    socket.setTimeout(0);
    const timer = setTimeout(() => resolve(false), status.stopDeadlineMs + graceMs);
    const onGone = () => {
      clearTimeout(timer);
      resolve(true);
    };
    if (socket.closed) onGone();
    else socket.once('close', onGone);
  });
  return { status, gone: gone.finally(() => socket.destroy()) };
}

export async function isListening(socketPath: string): Promise<boolean> {
  return await new Promise((resolve, reject) => {
    const socket = net.connect(socketPath);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error) => {
      if (isErrno(error, 'ECONNREFUSED') || isErrno(error, 'ENOENT')) resolve(false);
      else reject(error);
    });
  });
}

async function converse(
  socketPath: string,
  command: ControlCommand,
  timeoutMs: number = ANSWER_TIMEOUT_MS,
): Promise<{
  readonly socket: net.Socket;
  readonly status: ControlStatus;
  readonly reload?: ReloadAnswer | undefined;
  readonly isReady?: boolean | undefined;
  /** Text that has already arrived after the answer. */
  readonly behind: string;
}> {
  return await new Promise((resolve, reject) => {
    const socket = net.connect(socketPath);
    const fail = (reason: string, cause?: unknown) => {
      socket.destroy();
      reject(new SidecarError('D2S_ERR_CONTROL', `${socketPath}: ${reason}`, { cause }));
    };
    let text = '';
    socket.setEncoding('utf8');
    socket.setTimeout(timeoutMs, () => fail('no answer'));
    socket.on('error', (error) => fail(`cannot be reached: ${toErrno(error)}`, error));
    socket.once('close', () => fail('closed without an answer'));
    const onData = (chunk: string) => {
      text += chunk;
      const end = text.indexOf('\n');
      if (end < 0) {
        if (text.length > MAX_ANSWER_BYTES) fail('not the answer of a sidecar');
        return;
      }
      const answer = parseAnswer(text.slice(0, end));
      if (answer === undefined) fail('not the answer of a sidecar');
      else if (answer.kind === 'refused') fail(answer.reason);
      else {
        socket.off('data', onData);
        // The rest waits in the socket until the caller reads it; after other commands only the end follows.
        if (command.startsWith('report')) socket.pause();
        const { status, reload, isReady } = answer;
        resolve({ socket, status, reload, isReady, behind: text.slice(end + 1) });
      }
    };
    socket.on('data', onData);
    socket.write(`${command}\n`);
  });
}
