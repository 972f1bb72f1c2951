/**
 * `D2S_TIME_LAPSE=12 node --import ./scripts/time-lapse.mjs PROGRAM` lets time pass 12 times as fast for a program: its clocks, and
 * the timers that it sets. `D2S_TIME_BACK_S` moves its clock back at the start. For pictures: an hour of the demo takes five minutes.
 */
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import promises from 'node:timers/promises';

const factor = Number(process.env.D2S_TIME_LAPSE ?? 1);
const backMs = 1_000 * Number(process.env.D2S_TIME_BACK_S ?? 0);

const passedMs = performance.now.bind(performance);
const startMs = Date.now() - backMs;
const atStartMs = passedMs();
performance.now = () => passedMs() * factor;
Date.now = () => Math.floor(startMs + (passedMs() - atStartMs) * factor);

for (const name of ['setTimeout', 'setInterval']) {
  const set = timers[name];
  const setScaled = (run, ms = 0, ...values) => set(run, ms / factor, ...values);
  Object.assign(globalThis, { [name]: setScaled });
  timers[name] = setScaled;
}
const wait = promises.setTimeout;
promises.setTimeout = (ms, ...more) => wait(ms / factor, ...more);
syncBuiltinESMExports();
