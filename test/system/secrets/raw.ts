/** Bytes to a port, and what comes back. */
import net from 'node:net';

/** So long after what came last nothing more is waited for; most connections are closed before. */
const QUIET_MS = 400;

/** Sends `text` (latin1, `\n` as CR LF) and resolves to all that came (latin1) until the other side ended or fell silent. */
export function say(address: string, text: string, quietMs = QUIET_MS): Promise<string> {
  const { hostname, port } = new URL(`http://${address}`);
  return converse(net.connect(Number(port), hostname), text.replaceAll(/\r?\n/g, '\r\n'), quietMs);
}

/** The same over a local socket, with the text as it is. */
export function sayLocally(path: string, text: string, quietMs = QUIET_MS): Promise<string> {
  return converse(net.connect(path), text, quietMs);
}

function converse(socket: net.Socket, text: string, quietMs: number): Promise<string> {
  let came = '';
  return new Promise((resolve) => {
    socket.setEncoding('latin1').setTimeout(quietMs, () => socket.destroy());
    socket.on('data', (chunk: string) => {
      came += chunk;
    });
    // Refused in the middle is an answer, too.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => resolve(came));
    socket.write(text, 'latin1');
  });
}
