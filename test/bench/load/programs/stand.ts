/** The upstream where nginx is not enough or not there: it reads uploads to their end, and holds the soak's requests as they say. */
import http from 'node:http';
import { ANSWER_1M, HOLD_FIELD, POLL_ANSWER, SMALL_ANSWER } from '../answers.ts';
import { HTTP_OPTIONS, listen } from './arguments.ts';

const JSON_TYPE = { 'Content-Type': 'application/json' };
const small = Buffer.from(SMALL_ANSWER);
const poll = Buffer.from(POLL_ANSWER);

function answerTo(url: string): Buffer {
  if (url.includes('Answer1M')) return ANSWER_1M;
  return url.includes('/cometd/') ? poll : small;
}

const server = http.createServer(HTTP_OPTIONS, (request, response) => {
  const url = request.url ?? '/';
  request.resume();
  const body = answerTo(url);
  const answer = () => response.writeHead(200, { ...JSON_TYPE, 'Content-Length': body.length }).end(body);
  const holdMs = Number(request.headers[HOLD_FIELD] ?? 0);
  request.on('end', () => {
    if (holdMs === 0) {
      answer();
      return;
    }
    const timer = setTimeout(answer, holdMs);
    response.on('close', () => clearTimeout(timer));
  });
});
listen(server);
