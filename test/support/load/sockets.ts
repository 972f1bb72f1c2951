import type net from 'node:net';

/** Ends a connection by a reset. While our end is being sent, Node refuses (`reset EINVAL`) and loses the descriptor: then in order. */
export function reset(socket: net.Socket): void {
  const isEnding = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0;
  // Nor can Node reset a connection of TLS.
  if (isEnding || 'encrypted' in socket) socket.destroy();
  else socket.resetAndDestroy();
}

/** Whether the event comes before the connection is closed, or one of `overs`. */
export function next(socket: net.Socket, event: 'data' | 'drain', ...overs: readonly 'end'[]): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (name: string) => () => {
      for (const [each, listener] of listeners) socket.off(each, listener);
      resolve(name === event);
    };
    const listeners = [event, 'close', ...overs].map((name) => [name, settle(name)] as const);
    for (const [name, listener] of listeners) socket.once(name, listener);
  });
}
