import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/**
 * Ends a connection by a reset, so that what was sent cannot be taken for all there is. Of TLS the TCP connection below is reset:
 * without that many clients take any end for an orderly one, whether it was announced (RFC 8446 §6.1) or not.
 */
export function resetConnection(socket: Socket): void {
  const below = tcpOf(socket);
  // One that we have dialled by TLS has no socket of its own below it: its end comes without being announced.
  if (below !== undefined && !isEnding(below)) below.resetAndDestroy();
  else below?.destroy();
  if (below !== socket) socket.destroy();
}

/**
 * Our side has been ended in this very moment: all is written, and the system has not been told yet. Node refuses to reset then
 * (`reset EINVAL`), and forgets the descriptor without closing it and without a 'close'.
 */
function isEnding({ writableEnded, writableFinished, writableLength }: Socket): boolean {
  return writableEnded && !writableFinished && writableLength === 0;
}

function tcpOf(socket: Socket): Socket | undefined {
  if (!(socket instanceof TLSSocket)) return socket;
  // Not documented, but Node's own since 0.11; a Node without it ends the connection without a reset.
  const { _parent: below } = socket as TLSSocket & { readonly _parent?: Socket };
  return typeof below?.resetAndDestroy === 'function' ? below : undefined;
}
