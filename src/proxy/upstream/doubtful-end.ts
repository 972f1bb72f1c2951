import type { Socket } from 'node:net';

/**
 * Finds a reset behind what looks like an end in order: a reset that is read together with the last bytes is reported as one
 * (until libuv#4997). For plain TCP only, at the socket's 'end', in front of Node's own listener, which makes `write` fail.
 *
 * False: the peer is still there, or we have closed our side before, and nobody can tell any more. True: the connection is gone,
 * and `onKnown` follows in a moment: with the error when it was reset, undefined when it had ended in order before that.
 */
export function isDoubtfulEnd(socket: Socket, onKnown: (cause: Error | undefined) => void): boolean {
  // What ended in order still has a peer (getpeername(2)); Node remembers the address, so nobody may have asked before.
  if (socket.writableEnded || socket.remoteAddress !== undefined) return false;
  // Nothing is sent, and the system tells what it knows: EPIPE of one that was reset behind its end (Linux, `tcp_reset`).
  socket.write('', (cause) =>
    onKnown((cause as NodeJS.ErrnoException | null)?.code === 'ECONNRESET' ? (cause ?? undefined) : undefined),
  );
  return true;
}
