import type { Socket } from 'node:net';

/**
 * Distinguishes a reset from an orderly end: libuv reports a reset that it reads together with the last bytes as an end
 * (until libuv#4997). For plain TCP only. Call at the socket's 'end', before Node's own listener, which makes `write`
 * fail.
 *
 * False: the peer is still there, or we have already closed our side, which makes a reset indistinguishable. True: the
 * connection is gone, and `onKnown` follows shortly, with the error after a reset, or with undefined if it had ended in
 * order before.
 */
export function isDoubtfulEnd(socket: Socket, onKnown: (cause: Error | undefined) => void): boolean {
  // An orderly end leaves a peer (getpeername(2)). Node caches `remoteAddress`, so no code may have read it before.
  if (socket.writableEnded || socket.remoteAddress !== undefined) return false;
  // An empty write returns the system's error: EPIPE if the reset came after the end (Linux, `tcp_reset`).
  socket.write('', (cause) =>
    onKnown((cause as NodeJS.ErrnoException | null)?.code === 'ECONNRESET' ? (cause ?? undefined) : undefined),
  );
  return true;
}
