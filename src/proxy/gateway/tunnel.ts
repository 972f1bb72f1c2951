import type { Socket } from 'node:net';
import type { TunnelObserver } from '../exchange/exchange.ts';

/** How long the second direction of a tunnel may last behind the first one's end: WebSocket closes both at once. */
const HALF_CLOSED_MS = 30_000;

/**
 * Ties both ends of a tunnel together. http-proxy pipes them into each other, which passes on data, back pressure and an
 * orderly end, but leaves one end open for ever when the other one breaks, or when it breaks while nobody reads it.
 * `idleMs`: how often an end that is not read is asked for; 0 for never.
 */
export function guardTunnel(client: Socket, upstream: Socket, idleMs: number): void {
  // An end of one direction is passed on as such; the other direction may still have something to say.
  upstream.allowHalfOpen = true;
  endWith(client, upstream);
  endWith(upstream, client);
  if (idleMs === 0) return;
  askWhilePaused(client, idleMs);
  askWhilePaused(upstream, idleMs);
}

/** One whose bytes the other end does not take is not read, and so not seen leaving: a write of nothing fails then. */
function askWhilePaused(socket: Socket, everyMs: number): void {
  let timer: NodeJS.Timeout | undefined;
  socket.on('pause', () => {
    if (timer !== undefined || socket.destroyed) return;
    // The system then asks across the network: one that has gone without a word answers nothing, or with a reset.
    socket.setKeepAlive(true, everyMs);
    timer = setInterval(() => {
      if (socket.isPaused() && socket.writable && socket.writableLength === 0) socket.write('');
    }, everyMs);
  });
  socket.on('close', () => clearInterval(timer));
}

/**
 * Lets `observer` see what passes through a tunnel. To be called right behind the pipes, in the same turn of the event loop:
 * nothing has come out of either end by then, so it sees every byte, those read together with the heads included. And a
 * listener for 'data' beside the pipe's changes no flow then: it starts a stream that was about to start anyway, and not one
 * that the pipe has paused. Before the pipes it would let the first bytes out to itself alone.
 */
export function observeTunnel(client: Socket, upstream: Socket, observer: TunnelObserver): void {
  client.on('data', (bytes: Buffer) => observer.onClientBytes(bytes));
  upstream.on('data', (bytes: Buffer) => observer.onUpstreamBytes(bytes));
  let open = 2;
  const onClose = () => {
    open -= 1;
    if (open === 0) observer.onClosed();
  };
  client.once('close', onClose);
  upstream.once('close', onClose);
}

function endWith(first: Socket, second: Socket): void {
  let timer: NodeJS.Timeout | undefined;
  first.on('end', () => {
    timer = setTimeout(() => {
      first.destroy();
      second.destroy();
    }, HALF_CLOSED_MS);
  });
  first.on('close', (hadError) => {
    clearTimeout(timer);
    // What came before an orderly end is still on its way.
    if (hadError || !first.readableEnded) second.destroy();
    else second.destroySoon();
  });
}
