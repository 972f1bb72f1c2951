/** The client's side of the control socket: sends one command, reads one answer. */
import net from 'node:net';
import { isErrno, toErrno } from '../../base/errors.ts';
import {
  type ControlCommand,
  ControlError,
  type ControlStatus,
  MAX_ANSWER_BYTES,
  MAX_REPORT_BYTES,
  parseAnswer,
  type ReloadAnswer,
} from './protocol.ts';

/** Long for a local answer, but bounded: a hanging sidecar must not hang its caller. */
const ANSWER_TIMEOUT_MS = 5_000;
const RELOAD_TIMEOUT_MS = 60_000;
/** Long, since the JVM first stops all its threads. */
const THREADS_TIMEOUT_MS = 20_000;
/** A document follows the answer to these. */
const WITH_DOCUMENT: ReadonlySet<ControlCommand> = new Set(['report', 'report-with-users', 'threads', 'top']);

/** The answer to a command, on a connection that is still open. */
interface Reply {
  readonly socket: net.Socket;
  readonly status: ControlStatus;
  readonly reload?: ReloadAnswer | undefined;
  readonly isReady?: boolean | undefined;
  /** Bytes that arrived with the answer and belong to the document after it. */
  readonly rest: Buffer;
}

/** Sends one command. Throws D2S_ERR_CONTROL if nothing listens there, or if the listener refuses or is no sidecar. */
export async function sendCommand(socketPath: string, command: ControlCommand): Promise<ControlStatus> {
  const { socket, status } = await ask(socketPath, command);
  socket.destroy();
  return status;
}

export async function requestReload(
  socketPath: string,
): Promise<{ readonly status: ControlStatus; readonly reload: ReloadAnswer }> {
  const { socket, status, reload } = await ask(socketPath, 'reload', RELOAD_TIMEOUT_MS);
  socket.destroy();
  if (reload === undefined) throw notASidecar(socketPath);
  return { status, reload };
}

/** Asks for the health; `isReady` is the answer of `/readyz`. Throws like `sendCommand`. */
export async function requestHealth(
  socketPath: string,
): Promise<{ readonly status: ControlStatus; readonly isReady: boolean }> {
  const { socket, status, isReady } = await ask(socketPath, 'health');
  socket.destroy();
  if (isReady === undefined) throw notASidecar(socketPath);
  return { status, isReady };
}

/** Asks for a report; `text` is one JSON document. Throws like `sendCommand`. */
export async function requestReport(
  socketPath: string,
  includesUsers: boolean,
  maxBytes = MAX_REPORT_BYTES,
): Promise<{ readonly status: ControlStatus; readonly text: string }> {
  const reply = await ask(socketPath, includesUsers ? 'report-with-users' : 'report');
  return { status: reply.status, text: await readDocument(socketPath, reply, 'the report', maxBytes) };
}

/** Asks for a thread dump of the server's JVM. Throws like `sendCommand`. */
export async function requestThreads(socketPath: string): Promise<string> {
  const reply = await ask(socketPath, 'threads', THREADS_TIMEOUT_MS);
  return await readDocument(socketPath, reply, 'the thread dump', MAX_REPORT_BYTES);
}

/** Asks for the data of `top`: one JSON document. Throws like `sendCommand`. */
export async function requestTop(socketPath: string): Promise<string> {
  return await readDocument(socketPath, await ask(socketPath, 'top'), 'the list of calls', MAX_REPORT_BYTES);
}

/** Reads the document that follows the answer. `what` names it in errors. */
async function readDocument(
  socketPath: string,
  { socket, rest }: Reply,
  what: string,
  maxBytes: number,
): Promise<string> {
  const chunks = [rest];
  let bytes = rest.length;
  try {
    // The timeout applies to each chunk: the sidecar writes the document while it serves traffic.
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBytes) throw new ControlError(`${socketPath}: ${what} is larger than ${maxBytes} bytes`);
    }
  } catch (cause) {
    throw cause instanceof ControlError
      ? cause
      : new ControlError(`${socketPath}: ${what} was cut off: ${toErrno(cause)}`);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  if (!text.endsWith('\n')) throw new ControlError(`${socketPath}: ${what} was cut off`);
  return text;
}

/** Asks the sidecar to stop. `gone` settles when its process has ended (true) or the deadline passes (false). */
export async function requestShutdown(
  socketPath: string,
  graceMs: number,
): Promise<{ readonly status: ControlStatus; readonly gone: Promise<boolean> }> {
  const { socket, status } = await ask(socketPath, 'shutdown');
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

function ask(socketPath: string, command: ControlCommand, timeoutMs: number = ANSWER_TIMEOUT_MS): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(socketPath);
    const fail = (error: ControlError) => {
      socket.destroy();
      reject(error);
    };
    let received = Buffer.alloc(0);
    socket.setTimeout(timeoutMs, () => fail(new ControlError(`${socketPath}: no answer`)));
    socket.on('error', (cause) => fail(new ControlError(`${socketPath}: cannot be reached: ${toErrno(cause)}`, cause)));
    socket.once('close', () => fail(new ControlError(`${socketPath}: closed without an answer`)));
    const onData = (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const end = received.indexOf('\n');
      if (end < 0) {
        if (received.length > MAX_ANSWER_BYTES) fail(notASidecar(socketPath));
        return;
      }
      const answer = parseAnswer(received.toString('utf8', 0, end));
      if (answer === undefined) return fail(notASidecar(socketPath));
      if (answer.kind === 'refused') return fail(new ControlError(`${socketPath}: ${answer.reason}`));
      socket.off('data', onData);
      // The document waits in the socket until the caller reads it. After other commands the socket only closes.
      if (WITH_DOCUMENT.has(command)) socket.pause();
      const { status, reload, isReady } = answer;
      resolve({ socket, status, reload, isReady, rest: received.subarray(end + 1) });
    };
    socket.on('data', onData);
    socket.write(`${command}\n`);
  });
}

function notASidecar(socketPath: string): ControlError {
  return new ControlError(`${socketPath}: did not answer like a d2-sidecar`);
}
