import type net from 'node:net';

/** The status of the next answer, once its body has arrived; undefined when the connection ends first. Only answers with a length. */
export function readAnswer(socket: net.Socket): Promise<number | undefined> {
  return new Promise((resolve) => {
    let text = '';
    const end = (status: number | undefined): void => {
      socket.off('data', onData).off('close', onEnd).off('end', onEnd);
      resolve(status);
    };
    const onEnd = () => end(undefined);
    const onData = (chunk: Buffer): void => {
      text += chunk.toString('latin1');
      const headEnd = text.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text.slice(0, headEnd))?.[1] ?? 0);
      if (text.length - headEnd - 4 >= length) end(Number(text.slice(9, 12)));
    };
    socket.on('data', onData).on('close', onEnd).on('end', onEnd);
  });
}
