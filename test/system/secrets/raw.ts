/** Sends bytes to a port, and returns the answer. */
import net from 'node:net';

/** For busy machines: every conversation here ends without it. */
const LIMIT_MS = 15_000;

/** Sends `text` (latin1, `\n` as CR LF) and resolves to all received bytes (latin1) when the other side has ended. */
export function say(address: string, text: string, ends = false): Promise<string> {
  const { hostname, port } = new URL(`http://${address}`);
  return converse(net.connect(Number(port), hostname), text.replaceAll(/\r?\n/g, '\r\n'), ends);
}

/** The same, then ends the sending side. */
export const breakOff = (address: string, text: string) => say(address, text, true);

/** The same over a local socket. */
export const sayLocally = (path: string, text: string) =>
  converse(net.connect(path), text.replaceAll(/\r?\n/g, '\r\n'), false);

function converse(socket: net.Socket, text: string, ends: boolean): Promise<string> {
  let came = '';
  return new Promise((resolve, reject) => {
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      came += chunk;
    });
    socket.setTimeout(LIMIT_MS, () => socket.destroy(new Error(`silent after ${came.slice(0, 200)}`)));
    // A refusal in the middle, which has a code, is an answer, too.
    socket.on('error', (error) => ('code' in error ? socket.destroy() : reject(error)));
    socket.on('close', () => resolve(came));
    socket.write(text, 'latin1');
    if (ends) socket.end();
  });
}
