/** The upstream of a rolling restart: calls that are counted by their id, Comet by the real server, an echo. */
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { WebSocketServer } from 'ws';
import { startCometdPlant } from '../../support/comet/cometd-plant.ts';
import { COMET_PATH } from '../../support/comet/login-desk.ts';
import { listen } from '../../support/comet/plant.ts';

export const CALL_PATH = '/smartWeb/api/rest/v0/d2/rpc/E.Demo/Test';
export const ECHO_PATH = '/smartWeb/live';

/** The default of CometD's servers: a client that is away for longer has to log in again. */
const MAX_INTERVAL_MS = 10_000;

export type RollingPlant = Awaited<ReturnType<typeof startRollingPlant>>;

export async function startRollingPlant() {
  const comet = await startCometdPlant(MAX_INTERVAL_MS);
  /** Executions of each call, by the id in its body. */
  const carriedOut = new Map<string, number>();
  const http = createServer((request, response) => {
    if (request.url?.startsWith(COMET_PATH)) {
      comet.serve(request, response);
      return;
    }
    text(request).then(
      (id) => {
        carriedOut.set(id, (carriedOut.get(id) ?? 0) + 1);
        response.end(id);
      },
      () => response.destroy(),
    );
  });
  const echo = new WebSocketServer({ server: http, path: ECHO_PATH });
  echo.on('connection', (socket) => {
    socket.on('error', () => undefined);
    socket.on('message', (message) => socket.send(String(message)));
  });
  const { port, cut } = await listen(http);
  const close = async () => {
    echo.close();
    await cut();
    await comet.close();
  };
  return { port, carriedOut, close };
}
