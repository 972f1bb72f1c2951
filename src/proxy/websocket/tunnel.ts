import type { Socket } from 'node:net';
import { resetConnection } from '../../tls/connection-end.ts';
import type { TunnelObserver } from '../exchange/exchange.ts';

/** How long the second direction of a tunnel may stay open after the first has ended: WebSocket closes both at once. */
const HALF_CLOSED_MS = 30_000;

/** Bytes that the paused side of a stalled tunnel holds, in Node's streams and in the current read. Measured. */
export const PAUSED_BYTES = 104 * 1024;

/**
 * Makes both ends of a tunnel end together. http-proxy's pipes pass on an orderly end, but when one end breaks, they
 * leave the other open for ever. A reset of one end resets the other. `idleMs`: how often a paused end is probed; 0:
 * never.
 */
export function endTogether(client: Socket, upstream: Socket, idleMs: number): void {
  // The end of one direction is passed on as such; the other direction may still carry data.
  upstream.allowHalfOpen = true;
  endWith(client, upstream);
  endWith(upstream, client);
  if (idleMs === 0) return;
  probeWhilePaused(client, idleMs);
  probeWhilePaused(upstream, idleMs);
}

/**
 * Calls http-proxy's `openTunnel`, which writes the 101 and sets the pipes up. Removes its other listeners: they answer
 * a reset of one end with an orderly end of the other, and keep request and answer in memory.
 */
export function withoutProxyListeners(client: Socket, upstream: Socket, openTunnel: () => void): void {
  let onEnd: Listener | undefined;
  const note = (event: string | symbol, listener: Listener) => {
    // Its first one; the pipe's comes after it.
    if (event === 'end') onEnd ??= listener;
  };
  upstream.on('newListener', note);
  openTunnel();
  upstream.off('newListener', note);
  if (onEnd !== undefined) upstream.off('end', onEnd);
  for (const socket of [client, upstream]) socket.removeAllListeners('error').on('error', ignore);
}

/** Not in the function above: a closure would keep what http-proxy's listener keeps. */
const ignore = () => undefined;

type Listener = (...parameters: unknown[]) => void;

/** A paused socket (the other end's buffer is full) does not see its peer leave. An empty write fails. */
function probeWhilePaused(socket: Socket, everyMs: number): void {
  let timer: NodeJS.Timeout | undefined;
  socket.on('pause', () => {
    if (timer !== undefined || socket.destroyed) return;
    // The system then sends keep-alive probes: a vanished peer does not answer, or answers with a reset.
    socket.setKeepAlive(true, everyMs);
    timer = setInterval(() => {
      if (socket.isPaused() && socket.writable && socket.writableLength === 0) socket.write('');
    }, everyMs);
  });
  socket.on('close', () => clearInterval(timer));
}

/**
 * Call right after the pipes are set up, in the same turn of the event loop: neither end has emitted bytes by then, so
 * the observer sees every byte, and the additional listener changes no flow. One set before the pipes would be the only
 * one to get the first bytes.
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
    if (hadError) resetConnection(second);
    else if (!first.readableEnded) second.destroy();
    // Bytes from before an orderly end are still on their way.
    else second.destroySoon();
  });
}
