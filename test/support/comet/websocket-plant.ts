/** WebSocket for the plant of `cometd-plant.ts`, which has long-polling only: each message is posted to it. */
import type { IncomingMessage } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import { startCometdPlant } from './cometd-plant.ts';
import { COMET_PATH } from './login-desk.ts';

/** Every this many messages, one is sent in fragments, with a ping between them. */
const FRAGMENTED_EVERY = 5;
const FRAGMENT_CHARS = 100;

export async function startWebSocketPlant() {
  const plant = await startCometdPlant();
  const sockets = new WebSocketServer({ server: plant.server, path: COMET_PATH, perMessageDeflate: { threshold: 0 } });
  let sent = 0;
  sockets.on('connection', (socket, request) => {
    const gone = new AbortController();
    socket.on('error', () => undefined);
    socket.on('close', () => gone.abort());
    socket.on('message', (message: Buffer) => {
      // Fails when the socket is closed: the client's answers are dropped, as with a broken poll.
      post(plant.port, message, request, gone.signal).then(
        (answer) => {
          sent += 1;
          if (sent % FRAGMENTED_EVERY === 0) sendFragments(socket, answer);
          else socket.send(answer);
        },
        () => undefined,
      );
    });
  });
  return plant;
}

async function post(port: number, message: Buffer, { headers }: IncomingMessage, signal: AbortSignal): Promise<string> {
  // Messages of one client come from one browser, in the eyes of the package. It may have any number of clients here.
  const cookie = [headers.cookie, 'BAYEUX_BROWSER=all'].filter(Boolean).join('; ');
  const authorization = headers.authorization && { authorization: headers.authorization };
  const response = await fetch(`http://127.0.0.1:${port}${COMET_PATH}`, {
    method: 'POST',
    headers: { cookie, ...authorization },
    body: message.toString('utf8'),
    signal,
  });
  return (await response.text()).replaceAll('["long-polling"]', '["websocket"]');
}

function sendFragments(socket: WebSocket, text: string): void {
  for (let at = 0; at < text.length; at += FRAGMENT_CHARS) {
    socket.send(text.slice(at, at + FRAGMENT_CHARS), { fin: at + FRAGMENT_CHARS >= text.length });
    socket.ping();
  }
}
