/**
 * The other users: each calls in a loop over one kept connection, from an address of its own. In a separate process,
 * so that the test's event loop does not affect the measurement. Plain JavaScript, since it is forked directly.
 *
 *   fork('users.mjs', [url, users, pauseMs])   then send 'start', 'stop'; after 'stop' it sends { latenciesUs, failures, users }
 */
import http from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

const LOCAL_ADDRESS = '127.0.0.2';
/** A call that takes longer counts as unanswered. */
const TIMEOUT_MS = 20_000;

const [url, users, pauseMs] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
let latenciesUs = [];
let failures = [];
let served = new Set();
let isOn = false;
let working = [];

function call(user, agent) {
  return new Promise((resolve, reject) => {
    const begunNs = process.hrtime.bigint();
    const headers = { authorization: `Basic ${btoa(`user${user}:secret`)}`, 'content-type': 'application/json' };
    const options = { method: 'POST', agent, headers, localAddress: LOCAL_ADDRESS, timeout: TIMEOUT_MS };
    const request = http.request(url, options, (response) => {
      response.resume();
      response.on('end', () => {
        if (response.statusCode !== 200) {
          reject(new Error(`answered ${response.statusCode}`));
          return;
        }
        latenciesUs.push(Number(process.hrtime.bigint() - begunNs) / 1_000);
        served.add(user);
        resolve();
      });
    });
    request.on('timeout', () => request.destroy(new Error('not answered in time')));
    request.on('error', reject);
    request.end('[]');
  });
}

async function work(user) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  while (isOn) {
    await call(user, agent).catch((cause) => failures.push(String(cause.message)));
    await wait(pauseMs);
  }
  agent.destroy();
}

process.on('message', async (message) => {
  if (message === 'start') {
    isOn = true;
    latenciesUs = [];
    failures = [];
    served = new Set();
    working = Array.from({ length: users }, (_, user) => work(user));
    return;
  }
  isOn = false;
  await Promise.all(working);
  process.send({ latenciesUs, failures, users: served.size });
});
process.on('disconnect', () => process.exit());
