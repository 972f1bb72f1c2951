import type net from 'node:net';

/**
 * Ends a connection by a reset. While the end of our side is being sent, Node refuses that (`reset EINVAL`), loses the
 * descriptor without closing it and never emits 'close'; such a connection is closed normally.
 */
export function reset(socket: net.Socket): void {
  const isEnding = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0;
  // Nor can Node reset a connection of TLS.
  if (isEnding || 'encrypted' in socket) socket.destroy();
  else socket.resetAndDestroy();
}
