import type { IncomingMessage, OutgoingMessage } from 'node:http';

export interface PumpListener {
  readonly onEnd: () => void;
  /** The other side's buffer is full, or has drained. */
  readonly onFlowChange: () => void;
  /** Called with each chunk that was passed on. */
  readonly onPassed: ((chunk: Buffer) => void) | undefined;
}

/**
 * Passes a body on, chunk by chunk, as fast as the other side accepts it. After the other side has closed, the rest is
 * read and dropped, so that the connection stays usable.
 */
export function pump(
  from: IncomingMessage,
  to: OutgoingMessage,
  { onEnd, onFlowChange, onPassed }: PumpListener,
): void {
  let hasWritten = false;
  from.on('data', (chunk: Buffer) => {
    if (to.destroyed || to.writableEnded) return;
    hasWritten = true;
    if (!to.write(chunk)) {
      from.pause();
      onFlowChange();
    }
    if (onPassed !== undefined) onPassed(chunk);
  });
  to.on('drain', () => {
    from.resume();
    onFlowChange();
  });
  to.on('close', () => from.resume());
  from.on('end', onEnd);
  // Node holds a head back until the first chunk. The head of an event stream that starts silent must not wait.
  setImmediate(() => {
    if (!hasWritten && !to.writableEnded && !to.destroyed) to.flushHeaders();
  });
}
