/**
 * Many clients that send or read as slowly as they can, by slowhttptest, against limits shortened for this test: the limits
 * end them, /metrics counts them, and every call of other users is answered meanwhile. Needs Debian's `slowhttptest`.
 */

import { describe, expect, it } from 'vitest';
import { untilTestEnds } from '../support/deferred.ts';
import { isAvailable } from '../support/programs.ts';
import { type Attack, isSlowHttpTestInstalled, startAttack } from '../support/slow-clients/slow-http-test.ts';
import { startSlowStand, USERS } from '../support/slow-clients/slow-stand.ts';

const CONNECTIONS = 400;
/** Fewer, since each moves megabytes first. */
const READERS = 100;
const TIMEOUT_MS = 90_000;

const isInstalled = isAvailable('slowhttptest', isSlowHttpTestInstalled());

type Environment = Readonly<Record<string, string>>;

/** Attacks until every slow client has been ended, while other users are served. */
async function expectOthersServed(
  kind: Attack,
  limit: string,
  env: Environment,
  connections: number,
  hits = connections,
) {
  const { port, served, sample } = await startSlowStand(env);
  const others = await served(async () => {
    const attack = startAttack(kind, port, connections);
    untilTestEnds(attack.stop);
    await expect
      .poll(() => sample(`d2_sidecar_limit_hits_total{limit="${limit}"}`), {
        ...{ timeout: (2 / 3) * TIMEOUT_MS, interval: 250, message: attack.output() },
      })
      .toBeGreaterThanOrEqual(hits);
    await attack.stop();
  });
  expect({ failures: others.failures, users: others.users }).toEqual({ failures: [], users: USERS });
  expect(others.latenciesUs.length).toBeGreaterThan(USERS * 10);
  await expect.poll(() => sample('d2_sidecar_connections'), { timeout: 5_000 }).toBe(0);
  expect(await sample('d2_sidecar_requests_in_flight')).toBe(0);
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
    await expectOthersServed(kind, limit, env, connections);
  });

  it('of one address get at most their share of the connections', { timeout: TIMEOUT_MS }, async () => {
    const share = 50;
    const env = { D2_SIDECAR_DATA_PATH: dataPath, D2_SIDECAR_LIMITS_CONNECTIONS_PER_ADDRESS: String(share) };
    const hits = CONNECTIONS - share;
    await expectOthersServed('slow headers', 'limits.connectionsPerAddress', env, CONNECTIONS, hits);
  });
});
