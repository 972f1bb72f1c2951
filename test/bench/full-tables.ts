/**
 * Full tables, to measure their cost: 2,000 RPCs, 2,000 SBA methods and 10,000 objects, each with a full window; 10,000 sessions with
 * 10 RPCs each, a fifth of them of Comet with 10 subscriptions.
 */
import { type Clock, NS_PER_MS, systemClock } from '../../src/base/clock.ts';
import { createRecorder } from '../../src/measure/record/create-recorder.ts';
import type { Recorder } from '../../src/measure/record/recorder.ts';
import type { StateKeeper } from '../../src/state/state-keeper.ts';
import { takeUp } from '../../src/state/take-up.ts';
import { Random } from '../support/fuzz/random.ts';
import { testConfig } from '../support/wire/test-config.ts';

const SESSIONS = 10_000;
const RPCS_OF_SESSION = 10;
const STEPS = 30;

/** Follows the system's clock, and can be set back: tables are filled as if it had taken five minutes. */
class FillingClock implements Clock {
  aheadMs = -300_000;

  nowNs(): number {
    return systemClock.nowNs() + this.aheadMs * NS_PER_MS;
  }

  epochMs(): number {
    return systemClock.epochMs() + this.aheadMs;
  }
}

const random = new Random(1);
/** Around 20 ms, with a tail. */
const duration = () => 5 * NS_PER_MS * Math.exp(3 * random.next() * random.next());

function fill(recorder: Recorder, clock: FillingClock): void {
  const application = recorder.applications.get('smartWeb');
  if (application === undefined) throw new Error('no application');
  const { statistics, sessions } = application;
  const clients = recorder.state.clientsOf('smartWeb');
  for (let step = 0; step < STEPS; step += 1) {
    for (let i = 0; i < 2_000; i += 1) {
      for (let n = 0; n < 20; n += 1) statistics.rpc.recordAnswered(`E.Boiler${i}.Procedure`, 200, duration());
      for (let n = 0; n < 20; n += 1) statistics.sba.recordAnswered(`E.Boiler${i}.Method`, 200, duration());
    }
    for (let i = 0; i < 10_000; i += 1) statistics.object.recordValue(`H.Boiler${i}.Temperature`);
    clock.aheadMs += 300_000 / STEPS;
  }
  for (let i = 0; i < SESSIONS; i += 1) {
    const isComet = i % 5 === 0;
    const key = Buffer.from(`session ${i}`.padEnd(32)).toString('base64');
    const session = sessions.begin(key, key, {
      userName: `user${i}`,
      connectionType: isComet ? 'COMET_WEBSOCKET' : 'REST',
      remoteAddress: `10.0.${i >> 8}.${i & 255}`,
      atNs: clock.nowNs(),
      creationNs: duration(),
    });
    if (session === undefined) throw new Error('no session');
    for (let n = 0; n < 100; n += 1) {
      session.statistics.rpc.recordAnswered(
        `E.Boiler${(i + (n % RPCS_OF_SESSION)) % 2_000}.Procedure`,
        200,
        duration(),
      );
    }
    if (!isComet) continue;
    const client = clients?.findOrCreate(key, clock.nowNs());
    if (client === undefined) throw new Error('no client');
    clients?.know(client, session, true);
    for (let n = 0; n < 10; n += 1) {
      const object = `H.Boiler${(i + n) % 10_000}.Temperature`;
      clients?.subscribe(client, `/d2/object/${object}`, object);
    }
  }
}

/** The keeper of `file`, with the tables restored from it. */
export async function openState(
  file: string,
  clock: Clock,
): Promise<{ readonly made: Recorder; readonly keeper: StateKeeper }> {
  const silent = () => undefined;
  const logger = { debug: silent, info: silent, warn: silent, error: silent } as never;
  return await takeUp(
    () => createRecorder(testConfig(), clock),
    (recorder) => recorder.destroy(),
    { file, intervalMs: 10_000, sidecarVersion: '0.0.0', clock, logger },
  );
}

/** The same with full tables, before the first save. */
export async function openFullState(file: string): ReturnType<typeof openState> {
  const clock = new FillingClock();
  const opened = await openState(file, clock);
  fill(opened.made, clock);
  return opened;
}
