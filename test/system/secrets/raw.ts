/** Sends bytes to a port, and returns the answer. */
import net from 'node:net';

/** For busy machines: every conversation here ends without it. */
const LIMIT_MS = 15_000;

/** Sends `text` (latin1, `\n` as CR LF) and resolves to all received bytes (latin1) when the other side has ended. */
export function say(address: string, text: string): Promise<string> {
  return converse(connectTo(address), (socket) => socket.write(toLines(text), 'latin1'));
}

/** The same, then ends the sending side. */
export function breakOff(address: string, text: string): Promise<string> {
  return converse(connectTo(address), (socket) => socket.end(toLines(text), 'latin1'));
}

/** Over a local socket, with the text unchanged. */
export function sayLocally(path: string, text: string): Promise<string> {
  return converse(net.connect(path), (socket) => socket.write(text, 'latin1'));
}

function connectTo(address: string): net.Socket {
  const { hostname, port } = new URL(`http://${address}`);
  return net.connect(Number(port), hostname);
}

function toLines(text: string): string {
  return text.replaceAll(/\r?\n/g, '\r\n');
}

function converse(socket: net.Socket, send: (socket: net.Socket) => void): Promise<string> {
  let came = '';
  return new Promise((resolve, reject) => {
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      came += chunk;
    });
    socket.setTimeout(LIMIT_MS, () => socket.destroy(new Error(`silent after ${came.slice(0, 200)}`)));
    // A refusal in the middle, which has a code, is an answer, too.
    socket.on('error', (error) => ('code' in error ? socket.destroy() : reject(error)));
    socket.on('close', () => resolve(came));
    send(socket);
  });
}
