/**
 * The attach socket's protocol. Access to this socket means control of the JVM: it also loads code, sets flags and
 * dumps memory. So this client can send five commands and no others. The four commands of a reading never stop the JVM
 * at a safepoint. `THREAD_COMMAND` stops it for some milliseconds, and is only sent for a thread dump.
 */
import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import net from 'node:net';
import { addAbortSignal } from 'node:stream';
import { describeErrno } from '../../base/errors.ts';
import { type JvmErrorCode, JvmSourceError } from '../jvm-source.ts';

/** All commands of a reading, in jcmd's spelling. Frozen, so that nothing is added at run time. */
export const ATTACH_COMMANDS = Object.freeze([
  'GC.heap_info',
  'VM.metaspace basic scale=1',
  'Compiler.codecache',
  'VM.flags',
] as const);

/** Without `-l`, which would make the JVM walk its heap. The dump lists deadlocks even so. */
export const THREAD_COMMAND = 'Thread.print';
/** Enough for some thousand threads with deep stacks. */
const MAX_DUMP_BYTES = 16 * 1_024 * 1_024;

export type AttachCommand = (typeof ATTACH_COMMANDS)[number] | typeof THREAD_COMMAND;

/** The longest known answer to a reading has 2 KiB. */
export const MAX_ANSWER_BYTES = 262_144;
/**
 * `1\0jcmd\0GC.heap_info\0\0\0`: version, operation and always three arguments, each followed by a NUL. JDK 17 and JDK
 * 25 both accept the first version of the protocol.
 */
export function formatRequest(command: AttachCommand): string {
  // Types are not checked at run time.
  assert([...ATTACH_COMMANDS, THREAD_COMMAND].includes(command), 'a command that is not on the list');
  return `1\0jcmd\0${command}\0\0\0`;
}

/**
 * Returns the JVM's answer without its first line, the result code. Rejects with D2S_ERR_JVM_TIMEOUT when `signal`
 * aborts, D2S_ERR_JVM_FORMAT for an answer that cannot be used, and with the codes of `FAILURES`.
 */
export async function askJvm(socketPath: string, command: AttachCommand, signal: AbortSignal): Promise<string> {
  const maxBytes = command === THREAD_COMMAND ? MAX_DUMP_BYTES : MAX_ANSWER_BYTES;
  const answer = await converse(socketPath, formatRequest(command), signal, maxBytes);
  // Every answer has a result code; a JVM that refuses us closes the connection without one.
  if (answer === '') throw new JvmSourceError('D2S_ERR_JVM_ACCESS', `${REFUSED}.`);
  const end = answer.indexOf('\n');
  const result = end < 0 ? answer : answer.slice(0, end);
  if (result.trim() === '0') {
    // A JVM that dies while it answers may leave a truncated number.
    if (!answer.endsWith('\n'))
      throw new JvmSourceError('D2S_ERR_JVM_FORMAT', `The JVM’s answer to ${command} was cut short.`);
    return answer.slice(end + 1);
  }
  // The rest is the text of an exception. The JVM controls that text, so it is not repeated.
  const code = /^-?\d{1,9}$/.test(result) ? `result ${result}` : 'no result code';
  throw new JvmSourceError('D2S_ERR_JVM_FORMAT', `The JVM answered ${command} with ${code} instead of 0.`);
}

/**
 * Whether something listens at the socket. False means that the JVM has ended without removing it (SIGKILL, out of
 * memory). Sends nothing. Rejects like `askJvm`, except for D2S_ERR_JVM_GONE.
 */
export async function isListening(socketPath: string, signal: AbortSignal): Promise<boolean> {
  try {
    await converse(socketPath, undefined, signal);
    return true;
  } catch (error) {
    if (error instanceof JvmSourceError && error.code === 'D2S_ERR_JVM_GONE') return false;
    throw error;
  }
}

/** Without a request, resolves as soon as the connection is open. */
async function converse(
  socketPath: string,
  request: string | undefined,
  signal: AbortSignal,
  maxBytes = MAX_ANSWER_BYTES,
): Promise<string> {
  const socket = addAbortSignal(signal, net.connect(socketPath));
  // A second error may follow the first, e.g. ECONNRESET after EPIPE.
  socket.on('error', () => undefined);
  try {
    await once(socket, 'connect');
    if (request === undefined) return '';
    socket.write(request, 'latin1');
    const chunks: Buffer[] = [];
    let bytes = 0;
    // The JVM closes the connection after its answer; nothing else marks the end.
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > maxBytes)
        throw new JvmSourceError(
          'D2S_ERR_JVM_FORMAT',
          `The answer on the attach socket is larger than ${maxBytes} bytes.`,
        );
    }
    return Buffer.concat(chunks).toString('utf8');
  } catch (cause) {
    if (signal.aborted)
      throw new JvmSourceError('D2S_ERR_JVM_TIMEOUT', 'The JVM did not answer on its attach socket in time.');
    if (cause instanceof JvmSourceError) throw cause;
    const errno = describeErrno(cause);
    const [code, text] = FAILURES.get(errno) ?? ['D2S_ERR_JVM_UNREACHABLE', 'The attach socket cannot be reached'];
    throw new JvmSourceError(code, `${text} (${errno}).`, cause);
  } finally {
    socket.destroy();
  }
}

const REFUSED =
  'The JVM refuses us on its attach socket: run the sidecar with the same user and the same group as the JVM, or as root';

const FAILURES: ReadonlyMap<string, readonly [JvmErrorCode, string]> = new Map([
  ['ECONNREFUSED', ['D2S_ERR_JVM_GONE', 'Nothing listens on the attach socket: its JVM has ended']],
  ['ENOENT', ['D2S_ERR_JVM_UNREACHABLE', 'The attach socket has just been removed']],
  ['EACCES', ['D2S_ERR_JVM_ACCESS', REFUSED]],
  ['EPERM', ['D2S_ERR_JVM_ACCESS', REFUSED]],
  // The JVM checks the user and group of the client, and closes without an answer.
  ['ECONNRESET', ['D2S_ERR_JVM_ACCESS', REFUSED]],
  ['EPIPE', ['D2S_ERR_JVM_ACCESS', REFUSED]],
  ['EAGAIN', ['D2S_ERR_JVM_TIMEOUT', 'The JVM accepts no more connections on its attach socket']],
]);
