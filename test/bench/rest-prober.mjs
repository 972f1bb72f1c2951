/**
 * Users of the REST interface during a Comet load: in a process of their own, so that the load's event loop does not affect
 * the measurement. Plain JavaScript, since it is forked directly.
 *
 *   fork('rest-prober.mjs', [url])   then send 'start', 'stop'; after 'stop' it sends { count, p50Us, p99Us, maxUs }
 */
import http from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

const USERS = 4;
const PAUSE_MS = 10;

const url = process.argv[2];
const agent = new http.Agent({ keepAlive: true });
let latenciesUs = [];
let isOn = false;

function call(user) {
  return new Promise((resolve, reject) => {
    const begunNs = process.hrtime.bigint();
    const headers = { authorization: `Basic ${btoa(`rest${user}:secret`)}`, 'content-type': 'application/json' };
    const request = http.request(url, { method: 'POST', agent, headers }, (response) => {
      response.resume();
      response.on('end', () => {
        latenciesUs.push(Number(process.hrtime.bigint() - begunNs) / 1_000);
        resolve();
      });
    });
    request.on('error', reject);
    request.end('[]');
  });
}

async function work(user) {
  while (isOn) {
    await call(user);
    await wait(PAUSE_MS);
  }
}

process.on('message', (message) => {
  if (message === 'start') {
    isOn = true;
    latenciesUs = [];
    for (let user = 0; user < USERS; user += 1) void work(user);
    return;
  }
  isOn = false;
  const sorted = latenciesUs.sort((a, b) => a - b);
  const at = (share) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]);
  process.send({ count: sorted.length, p50Us: at(0.5), p99Us: at(0.99), maxUs: at(1) });
});
