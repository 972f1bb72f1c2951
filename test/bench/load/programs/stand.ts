/**
 * The upstream where nginx is not enough: it reads uploads completely before it answers, and holds long polls. Without
 * nginx, it replaces it entirely.
 */
import http from 'node:http';
import { ANSWER_1M, ANSWER_64K, HELD_COUNT_PATH, HELD_PATH, SMALL_ANSWER } from '../answers.ts';
import { BACKLOG, HOST, IDLE_TIMEOUT_MS, readPorts } from './arguments.ts';

const { port } = readPorts();
const JSON_TYPE = { 'Content-Type': 'application/json' };
const small = Buffer.from(SMALL_ANSWER);

let held = 0;

function hold(response: http.ServerResponse): void {
  held += 1;
  response.on('close', () => {
    held -= 1;
  });
}

function answerTo(url: string): Buffer {
  if (url === HELD_COUNT_PATH) return Buffer.from(String(held));
  if (url.includes('Answer64K')) return ANSWER_64K;
  return url.includes('Answer1M') ? ANSWER_1M : small;
}

const server = http.createServer((request, response) => {
  const url = request.url ?? '/';
  request.resume();
  // A held poll is never answered: the client ends it by leaving.
  if (url.startsWith(HELD_PATH)) {
    hold(response);
    return;
  }
  const answer = answerTo(url);
  request.on('end', () => response.writeHead(200, { ...JSON_TYPE, 'Content-Length': answer.length }).end(answer));
});
server.keepAliveTimeout = IDLE_TIMEOUT_MS;
server.requestTimeout = 0;
server.listen({ port, host: HOST, backlog: BACKLOG });
