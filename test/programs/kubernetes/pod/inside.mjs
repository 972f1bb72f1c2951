/**
 * Runs inside of a Pod's network: the application on port 8080, and a client for every port there. A line of JSON on standard input is
 * a question, one on standard output its answer; it ends with its standard input.
 */
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { createInterface } from 'node:readline';

/** Held answers: `/smartWeb/held` ends on command. */
const held = [];

/** Requests with a credential to the application: `{ url, authorization }`. */
const authorized = [];

const application = http.createServer((request, response) => {
  const { authorization } = request.headers;
  if (authorization !== undefined) authorized.push({ url: request.url, authorization });
  if (request.url === '/smartWeb/held') held.push(response);
  else response.end(`answered ${request.method} ${request.url}`);
});
const agents = {
  'http:': new http.Agent({ keepAlive: true }),
  'https:': new https.Agent({ keepAlive: true, rejectUnauthorized: false }),
};
const answers = {
  listen: async ({ port }) => {
    application.listen(port, '127.0.0.1');
    await once(application, 'listening');
    return {};
  },
  get: async ({ url, headers = {} }) => await get(url, headers),
  release: async () => {
    for (const response of held.splice(0)) response.end('released');
    return {};
  },
  held: async () => ({ count: held.length }),
  authorized: async () => ({ authorized }),
};

function get(url, headers) {
  return new Promise((resolve) => {
    const { protocol } = new URL(url);
    (protocol === 'https:' ? https : http)
      .get(url, { agent: agents[protocol], headers }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (text) => {
          body += text;
        });
        response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }));
        response.on('error', (error) => resolve({ error: error.code }));
      })
      .on('error', (error) => resolve({ error: error.code }));
  });
}

const questions = createInterface({ input: process.stdin });
questions.on('line', async (line) => {
  const { id, op, ...rest } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify({ id, ...(await answers[op](rest)) })}\n`);
});
questions.on('close', () => process.exit());
