import type { Socket } from 'node:net';

/** How long the second direction of a tunnel may last behind the first one's end: WebSocket closes both at once. */
const HALF_CLOSED_MS = 30_000;

/**
 * Ties both ends of a tunnel together. http-proxy pipes them into each other, which passes on data, back pressure and an
 * orderly end, but leaves one end open for ever when the other one breaks.
 */
export function guardTunnel(client: Socket, upstream: Socket): void {
  // An end of one direction is passed on as such; the other direction may still have something to say.
  upstream.allowHalfOpen = true;
  endWith(client, upstream);
  endWith(upstream, client);
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
