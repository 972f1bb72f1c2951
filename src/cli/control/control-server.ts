/**
 * The control socket of a running sidecar. Besides signals it is the only way to change anything in it, so only its own
 * user can connect (mode 0600, in a folder where nobody else can write). This folder knows nothing of traffic; a
 * `Controllable` carries out the commands.
 */
import { chmodSync, lstatSync, rmSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { pipeline, type Readable } from 'node:stream';
import { isErrno, SidecarError, toErrno } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { isListening } from './control-client.ts';
import {
  type ControlAnswer,
  ControlError,
  type ControlStatus,
  isControlCommand,
  MAX_COMMAND_BYTES,
  type ReloadAnswer,
} from './protocol.ts';
import { makePrivateFolder } from './socket-folder.ts';

export interface Controllable {
  status(): ControlStatus;
  /** The answer of `/readyz`. Never rejects. */
  isReady(): Promise<boolean>;
  /** One line with its line feed. Absent: this sidecar gives no reports. */
  readonly report?: ((includesUsers: boolean) => Promise<Readable>) | undefined;
  /**
   * A thread dump of the JVM, ending in a line feed. Rejects with a SidecarError. Absent: this sidecar reads no JVM.
   */
  readonly dumpThreads?: (() => Promise<string>) | undefined;
  /** One line of JSON with its line feed. Absent: this sidecar has no calls to show. */
  readonly top?: (() => string) | undefined;
  drain(): void;
  /** Never rejects. */
  reload(): Promise<ReloadAnswer>;
  shutdown(): void;
}

/** Our own clients send their command at once; a silent client is not one of them. */
const IDLE_TIMEOUT_MS = 5_000;
/** The configuration's files may be on a slow file system. */
const RELOAD_TIMEOUT_MS = 60_000;
/** Longer than the sidecar waits for the JVM. */
const THREADS_TIMEOUT_MS = 15_000;
/** Bound on the problems that the answer to a refused reload lists; the log has all of them. */
const MAX_PROBLEM_CHARS = 8_192;
/** Enough for a drain, a shutdown and a few watchers. Others are refused and counted. */
const MAX_CLIENTS = 16;
/** sockaddr_un holds 104 bytes on some systems, 108 on others; Node would truncate a longer path. */
const MAX_PATH_BYTES = 103;
const SOCKET_UMASK = 0o177;
const SOCKET_MODE = 0o600;

export class ControlServer {
  readonly path: string;
  readonly #sidecar: Controllable;
  readonly #logger: Logger;
  readonly #idleTimeoutMs: number;
  readonly #server: net.Server;
  readonly #clients = new Set<net.Socket>();
  #refusedClients = 0;

  /** Opens the socket. Throws D2S_ERR_CONTROL if it cannot be created, or if another process already listens there. */
  static async open(
    socketPath: string,
    sidecar: Controllable,
    logger: Logger,
    idleTimeoutMs: number = IDLE_TIMEOUT_MS,
  ): Promise<ControlServer> {
    if (Buffer.byteLength(socketPath, 'utf8') > MAX_PATH_BYTES) {
      throw new ControlError(`${socketPath} is longer than the ${MAX_PATH_BYTES} bytes that a socket's path may have`);
    }
    makePrivateFolder(path.dirname(path.resolve(socketPath)));
    await removeStale(socketPath);
    const control = new ControlServer(socketPath, sidecar, logger, idleTimeoutMs);
    await control.#listen();
    return control;
  }

  private constructor(socketPath: string, sidecar: Controllable, logger: Logger, idleTimeoutMs: number) {
    this.path = socketPath;
    this.#sidecar = sidecar;
    this.#logger = logger;
    this.#idleTimeoutMs = idleTimeoutMs;
    this.#server = net.createServer((socket) => this.#accept(socket));
    this.#server.maxConnections = MAX_CLIENTS;
    this.#server.on('drop', () => {
      this.#refusedClients += 1;
      // Log this once: a client that keeps connecting must not fill the log.
      if (this.#refusedClients === 1) this.#logger.warn({ clients: MAX_CLIENTS }, 'the control socket refuses clients');
    });
  }

  get refusedClients(): number {
    return this.#refusedClients;
  }

  /** Stops accepting commands and removes the socket. Clients of `shutdown` stay connected until the process ends. */
  close(): void {
    this.#server.close();
  }

  destroy(): void {
    this.close();
    for (const client of this.#clients) client.destroy();
  }

  async #listen(): Promise<void> {
    // The socket is never open to other users, not even between bind and chmod: listen() binds synchronously.
    const umask = process.umask(SOCKET_UMASK);
    try {
      await new Promise<void>((resolve, reject) => {
        this.#server.once('error', reject);
        this.#server.listen(this.path, () => {
          this.#server.off('error', reject);
          resolve();
        });
        // Reset the umask here, not after the await: other files may be created in between.
        process.umask(umask);
      });
      chmodSync(this.path, SOCKET_MODE);
    } catch (cause) {
      this.#server.close();
      throw new ControlError(`${this.path} cannot be opened: ${toErrno(cause)}`, cause);
    } finally {
      process.umask(umask);
    }
    this.#server.on('error', (error) => this.#logger.warn({ reason: toErrno(error) }, 'control socket failed'));
    this.#server.unref();
  }

  #accept(socket: net.Socket): void {
    this.#clients.add(socket);
    let text = '';
    socket.unref();
    socket.setEncoding('latin1');
    socket.setTimeout(this.#idleTimeoutMs, () => socket.destroy());
    // A client that has left does not need its answer.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#clients.delete(socket));
    socket.on('data', (chunk: string) => {
      text += chunk;
      const end = text.indexOf('\n');
      if (end >= 0 && end < MAX_COMMAND_BYTES) {
        socket.removeAllListeners('data').resume();
        this.#execute(text.slice(0, end).trim(), socket);
      } else if (text.length >= MAX_COMMAND_BYTES) {
        socket.destroy();
      }
    });
  }

  async #reload(socket: net.Socket): Promise<void> {
    socket.setTimeout(RELOAD_TIMEOUT_MS);
    const reload = shortened(await this.#sidecar.reload());
    socket.end(toLine({ kind: 'ok', status: this.#sidecar.status(), reload }));
  }

  async #report(socket: net.Socket, includesUsers: boolean): Promise<void> {
    const sidecar = this.#sidecar;
    if (sidecar.report === undefined) {
      socket.end(toLine({ kind: 'refused', reason: 'this sidecar gives no reports' }));
      return;
    }
    try {
      const report = await sidecar.report(includesUsers);
      socket.write(toLine({ kind: 'ok', status: sidecar.status() }));
      // Without the line feed at its end, a report is incomplete. A client that does not read runs into the timeout.
      pipeline(report, socket, (cause) => {
        if (cause != null && !isErrno(cause, 'ERR_STREAM_PREMATURE_CLOSE')) this.#reportFailed(cause);
      });
    } catch (cause) {
      this.#reportFailed(cause);
      socket.destroy();
    }
  }

  async #threads(socket: net.Socket): Promise<void> {
    const sidecar = this.#sidecar;
    socket.setTimeout(THREADS_TIMEOUT_MS);
    try {
      const dump = await sidecar.dumpThreads?.();
      if (dump === undefined) socket.end(toLine({ kind: 'refused', reason: 'this sidecar reads no JVM' }));
      else socket.end(toLine({ kind: 'ok', status: sidecar.status() }) + dump);
    } catch (cause) {
      const reason = cause instanceof SidecarError ? cause.message : 'an unexpected error';
      socket.end(toLine({ kind: 'refused', reason }));
    }
  }

  #reportFailed(cause: unknown): void {
    this.#logger.warn({ error: cause instanceof Error ? cause.name : typeof cause }, 'a report was cut off');
  }

  async #sendHealth(socket: net.Socket): Promise<void> {
    const isReady = await this.#sidecar.isReady();
    socket.end(toLine({ kind: 'ok', status: this.#sidecar.status(), isReady }));
  }

  #execute(command: string, socket: net.Socket): void {
    const sidecar = this.#sidecar;
    if (!isControlCommand(command)) {
      socket.end(toLine({ kind: 'refused', reason: 'unknown command' }));
      return;
    }
    switch (command) {
      case 'reload':
        void this.#reload(socket);
        return;
      case 'health':
        void this.#sendHealth(socket);
        return;
      case 'report':
      case 'report-with-users':
        void this.#report(socket, command === 'report-with-users');
        return;
      case 'threads':
        void this.#threads(socket);
        return;
      case 'top': {
        const text = sidecar.top?.();
        if (text === undefined) socket.end(toLine({ kind: 'refused', reason: 'this sidecar shows no calls' }));
        else socket.end(toLine({ kind: 'ok', status: sidecar.status() }) + text);
        return;
      }
      case 'status':
        socket.end(toLine({ kind: 'ok', status: sidecar.status() }));
        return;
      case 'drain':
        sidecar.drain();
        socket.end(toLine({ kind: 'ok', status: sidecar.status() }));
        return;
      case 'shutdown':
        // The connection stays open until the process ends: its closing tells the client that the sidecar has gone.
        socket.setTimeout(0);
        socket.write(toLine({ kind: 'ok', status: sidecar.status() }));
        sidecar.shutdown();
    }
  }
}

/** Keeps only the first problems, to bound the answer. */
function shortened(answer: ReloadAnswer): ReloadAnswer {
  if (answer.kind === 'applied') return answer;
  const problems: string[] = [];
  let left = MAX_PROBLEM_CHARS;
  for (const problem of answer.problems) {
    left -= problem.length;
    if (left >= 0) problems.push(problem);
  }
  const more = answer.problems.length - problems.length;
  if (more > 0) problems.push(`${more} more: see the sidecar's log`);
  return { ...answer, problems };
}

/** Removes the socket of a dead process, which would block a new one. */
async function removeStale(socketPath: string): Promise<void> {
  let isSocket: boolean;
  try {
    isSocket = lstatSync(socketPath).isSocket();
  } catch (cause) {
    if (isErrno(cause, 'ENOENT')) return;
    throw new ControlError(`${socketPath} cannot be inspected: ${toErrno(cause)}`, cause);
  }
  if (!isSocket) throw new ControlError(`${socketPath} exists and is not a socket`);
  if (await isListening(socketPath)) throw new ControlError(`${socketPath} is in use by another process`);
  rmSync(socketPath, { force: true });
}

function toLine(answer: ControlAnswer): string {
  return `${JSON.stringify(answer)}\n`;
}
