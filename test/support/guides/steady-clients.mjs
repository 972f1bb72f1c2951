/**
 * `node steady-clients.mjs CALLS_PER_SECOND SLOW_MS BEGUN`, on a machine of the guides: calls the plant through the sidecar, half of the calls on kept
 * connections, half on new ones, and always one call of SLOW_MS. Makes the file BEGUN then. At the end of its input, once all calls have ended, it prints a line of JSON:
 * how many calls were answered, and which failed.
 */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

const [rate = '100', slowMs = '2000', begun = ''] = process.argv.slice(2);
// Few enough that none is silent for a second: then the sidecar may close it just when it is used again.
const kept = new http.Agent({ keepAlive: true, maxSockets: 20 });
const TICK_MS = 20;
const told = { answered: 0, failed: [] };
let isOn = true;

async function call(method, agent) {
  try {
    const options = { host: '127.0.0.1', port: 8081, method: 'POST', agent, auth: 'anna:word of anna' };
    const request = http.request({ ...options, path: `/smartWeb/api/rest/v0/d2/rpc/E.Demo/${method}` });
    request.end('{}');
    const [response] = await once(request, 'response');
    response.resume();
    await once(response, 'end');
    if (response.statusCode === 200) told.answered += 1;
    else told.failed.push(`status ${response.statusCode}`);
  } catch (error) {
    told.failed.push(error.code ?? error.message);
  }
}

async function callSlowly() {
  while (isOn) await call(`Sleep${slowMs}`, false);
}

async function callQuickly() {
  const calls = [];
  const beganMs = performance.now();
  while (isOn) {
    const due = Math.floor(((performance.now() - beganMs) / 1_000) * Number(rate));
    while (calls.length < due) calls.push(call('TestInOut', calls.length % 2 === 0 ? kept : false));
    await pause(TICK_MS);
  }
  await Promise.all(calls);
}

process.stdin.resume().once('end', () => {
  isOn = false;
});
const calls = [callSlowly(), callQuickly()];
setTimeout(() => writeFileSync(begun, ''), 500);
await Promise.all(calls);
process.stdout.write(`${JSON.stringify(told)}\n`);
process.exit();
