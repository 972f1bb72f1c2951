import type { IncomingMessage, OutgoingMessage } from 'node:http';

/**
 * Passes a body on, chunk by chunk, as fast as the other side takes it; `onEnd` follows the last one. What comes after the
 * other side has gone is read and dropped, so that the connection it comes on stays usable. `onPassed`, if given, sees each
 * chunk that was passed on.
 */
export function pump(
  from: IncomingMessage,
  to: OutgoingMessage,
  onEnd: () => void,
  onPassed: ((chunk: Buffer) => void) | undefined,
): void {
  let hasWritten = false;
  from.on('data', (chunk: Buffer) => {
    if (to.destroyed || to.writableEnded) return;
    hasWritten = true;
    if (!to.write(chunk)) from.pause();
    if (onPassed !== undefined) onPassed(chunk);
  });
  to.on('drain', () => from.resume());
  to.on('close', () => from.resume());
  from.on('end', onEnd);
  // Node keeps a head back for the first chunk. An event stream may be silent for long, and its head must not wait for that.
  setImmediate(() => {
    if (!hasWritten && !to.writableEnded && !to.destroyed) to.flushHeaders();
  });
}
