/**
 * Many clients that send or read as slowly as they can, by slowhttptest, against limits shortened for this test: the limits
 * end them, /metrics counts them, and every call of other users is answered meanwhile. Needs Debian's `slowhttptest`.
 */

import { afterEach, describe, expect, it } from 'vitest';
import { isAvailable } from '../support/programs.ts';
import {
  type Attack,
  isSlowHttpTestInstalled,
  type RunningAttack,
  startAttack,
} from '../support/slow-clients/slow-http-test.ts';
import { SlowClientHarness } from '../support/slow-clients/slow-stand.ts';

const CONNECTIONS = 400;
/** Fewer, since each moves megabytes first. */
const READERS = 100;
const USERS = 10;
const PAUSE_MS = 20;
/** More than the kernel buffers for a client that reads nothing: the rest waits in the sidecar, and pauses the upstream. */
const LARGE_BYTES = 4 * 1_024 * 1_024;
const TIMEOUT_MS = 90_000;

const isInstalled = isAvailable('slowhttptest', isSlowHttpTestInstalled());

let harness: SlowClientHarness | undefined;
let attack: RunningAttack | undefined;
afterEach(async () => {
  await attack?.stop();
  await harness?.close();
  [harness, attack] = [undefined, undefined];
});

type Environment = Readonly<Record<string, string>>;

/** Attacks until every slow client has been ended, while other users are served. */
async function expectOthersServed(
  kind: Attack,
  limit: string,
  { env, connections, hits }: { readonly env: Environment; readonly connections: number; readonly hits: number },
): Promise<SlowClientHarness> {
  const running = await SlowClientHarness.start({ largeBytes: LARGE_BYTES, users: USERS, pauseMs: PAUSE_MS, env });
  harness = running;
  const served = await running.served(async () => {
    attack = startAttack({
      ...{ attack: kind, port: running.port, connections, rate: 1_000, seconds: TIMEOUT_MS / 1_000 },
      // A head has a total limit, a body an idle limit.
      intervalSeconds: kind === 'slow headers' ? 1 : TIMEOUT_MS / 1_000,
    });
    await expect
      .poll(() => running.hits(limit), { timeout: (2 / 3) * TIMEOUT_MS, interval: 250, message: attack.output() })
      .toBeGreaterThanOrEqual(hits);
  });
  expect({ failures: served.failures, users: served.users }).toEqual({ failures: [], users: USERS });
  expect(served.latenciesUs.length).toBeGreaterThan(USERS * 10);
  await attack?.stop();
  await expect.poll(() => running.sample('d2_sidecar_connections'), { timeout: 5_000 }).toBe(0);
  expect(await running.sample('d2_sidecar_requests_in_flight')).toBe(0);
  return running;
}

describe.runIf(isInstalled).each(['auto', 'gateway'])('slow clients (dataPath: %s)', (dataPath) => {
  it.each<[string, Attack, string, string, number]>([
    ['that never finish their heads get 408', 'slow headers', 'timeouts.head', 'HEAD', CONNECTIONS],
    [
      'that never finish their bodies are cut off after the idle limit',
      'slow body',
      'timeouts.idle',
      'IDLE',
      CONNECTIONS,
    ],
    ['that hardly read their answers are cut off when nothing moves', 'slow read', 'timeouts.idle', 'IDLE', READERS],
  ])('%s', { timeout: TIMEOUT_MS }, async (_what, kind, limit, timeout, connections) => {
    const env = { D2_SIDECAR_DATA_PATH: dataPath, [`D2_SIDECAR_TIMEOUTS_${timeout}`]: '3s' };
    await expectOthersServed(kind, limit, { env, connections, hits: connections });
  });

  it('of one address get at most their share of the connections', { timeout: TIMEOUT_MS }, async () => {
    const share = 50;
    const env = { D2_SIDECAR_DATA_PATH: dataPath, D2_SIDECAR_LIMITS_CONNECTIONS_PER_ADDRESS: String(share) };
    await expectOthersServed('slow headers', 'limits.connectionsPerAddress', {
      env,
      connections: CONNECTIONS,
      hits: CONNECTIONS - share,
    });
  });
});
