/**
 * Many clients that send or read as slowly as they can, by slowhttptest, against limits that are short for this test: the limits
 * end them, /metrics counts them, and meanwhile other users' calls are answered, all of them. Needs Debian's `slowhttptest`;
 * D2S_REQUIRE_SLOWHTTPTEST=1 makes its absence a failure. Its long form, which measures: test/bench/slow-clients-load.ts.
 */
import { afterEach, describe, expect, it } from 'vitest';
import {
  type Attack,
  isSlowHttpTestInstalled,
  type RunningAttack,
  startAttack,
} from './slow-clients/slow-http-test.ts';
import { SlowStand } from './slow-clients/slow-stand.ts';

const CONNECTIONS = 400;
/** Fewer, since each has its megabytes moved first. */
const READERS = 100;
const USERS = 10;
/** A user waits for the answer, then for this. */
const PAUSE_MS = 20;
/** More than the kernel takes for a client that reads nothing: the rest waits in the sidecar, and stops the upstream. */
const LARGE_BYTES = 4 * 1_024 * 1_024;
const TIMEOUT_MS = 90_000;

const isInstalled = isSlowHttpTestInstalled();
if (!isInstalled) console.warn('SKIPPED: slow clients; Debian’s package slowhttptest is not installed');

it.runIf(process.env.D2S_REQUIRE_SLOWHTTPTEST === '1')(
  'has the slowhttptest that D2S_REQUIRE_SLOWHTTPTEST=1 demands',
  () => expect(isInstalled).toBe(true),
);

let stand: SlowStand | undefined;
let attack: RunningAttack | undefined;
afterEach(async () => {
  await attack?.stop();
  await stand?.close();
  [stand, attack] = [undefined, undefined];
});

type Environment = Readonly<Record<string, string>>;

/** Attacks until every slow client has been ended; others are served meanwhile. */
async function withstand(
  kind: Attack,
  limit: string,
  { env, connections, hits }: { readonly env: Environment; readonly connections: number; readonly hits: number },
): Promise<SlowStand> {
  const running = await SlowStand.start({ largeBytes: LARGE_BYTES, users: USERS, pauseMs: PAUSE_MS, env });
  stand = running;
  const served = await running.served(async () => {
    attack = startAttack({
      ...{ attack: kind, port: running.port, connections, rate: 1_000, seconds: TIMEOUT_MS / 1_000 },
      // A head has a time to its end, whatever comes meanwhile; for a body there is one for silence.
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
  const with3s = (timeout: string, connections = CONNECTIONS) => ({
    env: { D2_SIDECAR_DATA_PATH: dataPath, [`D2_SIDECAR_TIMEOUTS_${timeout}`]: '3s' },
    ...{ connections, hits: connections },
  });

  it('that never end their heads get 408', { timeout: TIMEOUT_MS }, () =>
    withstand('slow headers', 'timeouts.head', with3s('HEAD')),
  );

  it('that never end their bodies are cut off when they are silent', { timeout: TIMEOUT_MS }, () =>
    withstand('slow body', 'timeouts.idle', with3s('IDLE')),
  );

  it('that hardly read their answers are cut off when nothing goes on', { timeout: TIMEOUT_MS }, () =>
    withstand('slow read', 'timeouts.idle', with3s('IDLE', READERS)),
  );

  it('of one address have their share of connections', { timeout: TIMEOUT_MS }, async () => {
    const share = 50;
    const env = { D2_SIDECAR_DATA_PATH: dataPath, D2_SIDECAR_LIMITS_CONNECTIONS_PER_ADDRESS: String(share) };
    await withstand('slow headers', 'limits.connectionsPerAddress', {
      env,
      connections: CONNECTIONS,
      hits: CONNECTIONS - share,
    });
  });
});
