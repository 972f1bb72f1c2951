import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { ECHO_PATH } from './plant.ts';

const RETRY_MS = 20;
const PAUSE_MS = 15;

/** A WebSocket that is reopened whenever it is closed, with messages that are echoed. */
export class SocketClient {
  /** Status of each close that the client did not start. */
  readonly closes: number[] = [];
  echoes = 0;
  /** Echoes that arrived out of order, or twice. */
  readonly wrong: string[] = [];

  async run(port: number, isStopped: () => boolean): Promise<void> {
    while (!isStopped()) await this.#live(new WebSocket(`ws://127.0.0.1:${port}${ECHO_PATH}`), isStopped);
  }

  async #live(socket: WebSocket, isStopped: () => boolean): Promise<void> {
    let sent = 0;
    let echoed = 0;
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // Nothing was sent: refused, or dropped from the backlog of a closed listener.
      if (error.code === 'ECONNREFUSED' || error.syscall === 'connect') return;
      this.wrong.push(`${error.code} ${error.message}`);
    });
    socket.on('message', (message) => {
      echoed += 1;
      this.echoes += 1;
      if (String(message) !== String(echoed)) this.wrong.push(`${String(message)} instead of ${echoed}`);
    });
    const closed = new Promise<number>((resolve) => socket.on('close', resolve));
    const isOpen = await Promise.race([
      new Promise<true>((resolve) => socket.on('open', () => resolve(true))),
      closed.then(() => false),
    ]);
    if (!isOpen) return await delay(RETRY_MS);
    for (; socket.readyState === WebSocket.OPEN && !isStopped(); await delay(PAUSE_MS)) {
      sent += 1;
      socket.send(String(sent));
    }
    if (isStopped()) socket.close(1000);
    const status = await closed;
    if (!isStopped()) this.closes.push(status);
  }
}
