/** The upstream of a soak: `node soak/upstream.js <port>`. Small answers, and polls held for the requested time. */
import http from 'node:http';
import { BACKLOG, HOST, IDLE_TIMEOUT_MS, readPorts } from '../../bench/load/programs/arguments.ts';
import { HOLD_FIELD } from './load.ts';

const ANSWER = JSON.stringify({ returnCode: 0, parameters: [{ type: 'INT', value: 42 }], text: 'x'.repeat(400) });
const POLL_ANSWER = JSON.stringify([{ channel: '/meta/connect', id: '1', successful: true }]);

function answer(response: http.ServerResponse, text: string): void {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': text.length }).end(text);
}

const server = http.createServer((request, response) => {
  const holdMs = Number(request.headers[HOLD_FIELD]);
  request.resume();
  request.on('end', () => {
    if (!Number.isFinite(holdMs)) {
      answer(response, ANSWER);
      return;
    }
    const timer = setTimeout(() => answer(response, POLL_ANSWER), holdMs);
    response.on('close', () => clearTimeout(timer));
  });
});
server.keepAliveTimeout = IDLE_TIMEOUT_MS;
server.requestTimeout = 0;
server.listen({ port: readPorts().port, host: HOST, backlog: BACKLOG });
