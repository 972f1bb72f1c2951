/** Ways to end a connection, with or without TLS. Resetting one with TLS requires the TCP socket below it. */
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/** How long a client may keep sending after we have closed our side, so that it can read the answer first. */
export const LINGER_MS = 2_000;

/**
 * Ends our side after pending writes. The client may still be sending, and must not lose the answer to a reset.
 * `onWritten` is called when everything is written: Node emits no 'drain' after `end`.
 */
export function closeAfterWrites(socket: Socket, onWritten: () => void): void {
  // Stop reading until then: otherwise a client that keeps sending and never reads would never be idle.
  if (socket.writableLength > 0) socket.pause();
  socket.end(() => {
    if (socket.destroyed) return;
    onWritten();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
    socket.resume();
  });
}

/**
 * Ends a connection with a reset, so that the peer cannot mistake partial data for complete data. With TLS, the TCP
 * connection below is reset: many clients accept any end as an orderly one, with close_notify (RFC 8446 §6.1) or
 * without.
 */
export function resetConnection(socket: Socket): void {
  const below = tcpOf(socket);
  if (below === undefined && !isEnding(socket)) resetAtClose(socket);
  if (below !== undefined && !isEnding(below)) below.resetAndDestroy();
  else below?.destroy();
  if (below !== socket) socket.destroy();
}

/** Makes Node report a reset that answered earlier writes, by an error: after the peer's FIN it reports none. */
export function revealReset(socket: Socket): void {
  tcpOf(socket)?.write('');
}

/**
 * Our side has ended and everything is written, but the kernel has not been told yet. At this moment Node refuses to
 * reset (`reset EINVAL`), and drops the descriptor without closing it and without a 'close' event.
 */
function isEnding({ writableEnded, writableFinished, writableLength }: Socket): boolean {
  return writableEnded && !writableFinished && writableLength === 0;
}

/**
 * A TLS connection that we dialled has no TCP socket below it, only a handle. Undocumented: on a Node without it the
 * connection ends without close_notify, which some servers take for an orderly end.
 */
function resetAtClose(socket: Socket): void {
  type TcpHandle = Partial<Record<'close' | 'reset', (onClosed?: () => void) => void>>;
  const { _handle: handle } = socket as Socket & { readonly _handle?: { readonly _parent?: TcpHandle } | null };
  const tcp = handle?._parent;
  if (typeof tcp?.reset === 'function') tcp.close = tcp.reset;
}

function tcpOf(socket: Socket): Socket | undefined {
  if (!(socket instanceof TLSSocket)) return socket;
  // Undocumented, but in Node since 0.11. On a Node without it the connection ends without a reset.
  const { _parent: below } = socket as TLSSocket & { readonly _parent?: Socket };
  return typeof below?.resetAndDestroy === 'function' ? below : undefined;
}
