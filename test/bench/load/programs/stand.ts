/** The upstream where nginx is not enough: it reads uploads completely before it answers. Without nginx, it replaces it entirely. */
import http from 'node:http';
import { ANSWER_1M, SMALL_ANSWER } from '../answers.ts';
import { BACKLOG, HOST, IDLE_TIMEOUT_MS, readPorts } from './arguments.ts';

const { port } = readPorts();
const JSON_TYPE = { 'Content-Type': 'application/json' };
const small = Buffer.from(SMALL_ANSWER);

const server = http.createServer((request, response) => {
  const answer = request.url?.includes('Answer1M') ? ANSWER_1M : small;
  request.resume();
  request.on('end', () => response.writeHead(200, { ...JSON_TYPE, 'Content-Length': answer.length }).end(answer));
});
server.keepAliveTimeout = IDLE_TIMEOUT_MS;
server.requestTimeout = 0;
server.listen({ port, host: HOST, backlog: BACKLOG });
