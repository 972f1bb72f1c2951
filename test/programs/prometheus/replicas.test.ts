/** The queries of docs/fleet.md, on a real Prometheus that scrapes two sidecars before one application. Needs `prometheus`. */
import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { deferTo } from '../../support/deferred.ts';
import { restCall } from '../../support/net.ts';
import { FLEET_RULES_PATH } from '../../support/prometheus/rules-file.ts';
import { startStand } from '../../support/wire/stand.ts';
import { hasPrometheus, startPrometheus } from '../prometheus-server.ts';

const WAIT = { timeout: 30_000, interval: 200 };
const DOCUMENT = readFileSync(new URL('../../../docs/fleet.md', import.meta.url), 'utf8');
const queryOf = (name: string): string => {
  const row = DOCUMENT.split('\n').find((line) => line.startsWith(`| ${name} |`));
  return /`(.*)`/.exec(row ?? '')?.[1] ?? '';
};
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
/** A slow call is above the first bound, whatever the machine does. */
const BUCKETS = [0.1, 60];
const SLOW_MS = 150;

describe.runIf(hasPrometheus)('two replicas', { timeout: 90_000 }, () => {
  const defer = deferTo(afterAll);

  it('are read together: exact sums, and a percentile within its bucket', async () => {
    const start = async () => {
      const stand = await startStand({
        onConnection: (socket) =>
          socket.on('data', (bytes) => {
            const isSlow = bytes.toString('latin1').includes('Slow');
            setTimeout(() => socket.write(ANSWER), isSlow ? SLOW_MS : 0);
          }),
        config: ({ metrics }) => ({ metrics: { ...metrics, prometheus: { objects: 'totals', buckets: BUCKETS } } }),
      });
      defer(() => stand.close());
      return stand;
    };
    const [one, two] = [await start(), await start()];
    const targets = [one, two].map(({ monitorPort }) => `127.0.0.1:${monitorPort}`);
    const prometheus = await startPrometheus(defer, targets, 'token', FLEET_RULES_PATH);
    const slow = async (times: readonly [number, number]) => {
      for (const [at, stand] of [one, two].entries())
        for (let i = 0; i < (times[at] ?? 0); i += 1) await restCall(stand.port, 'rpc/E.Demo/Slow', 'ann');
    };
    const sumOfCalls = async () => {
      const series = await prometheus.query(queryOf('Calls'));
      return series.find(({ labels }) => labels.name === 'E.Demo.Slow' && labels.outcome === 'ok')?.value;
    };
    // A rate needs the series before its calls.
    await slow([1, 1]);
    await vi.waitFor(async () => expect(await sumOfCalls()).toBe(2), WAIT);
    await slow([3, 5]);
    await vi.waitFor(async () => expect(await sumOfCalls()).toBe(10), WAIT);
    await vi.waitFor(async () => {
      const p99 = (await prometheus.query(queryOf('The 99th percentile'))).find(({ labels }) => labels.kind === 'rpc');
      expect(p99?.value).toBeGreaterThan(0.1);
      expect(p99?.value).toBeLessThanOrEqual(60);
    }, WAIT);
    const rates = await prometheus.query(queryOf('Calls a second'));
    expect(rates.find(({ labels }) => labels.kind === 'rpc')?.value).toBeGreaterThan(0);
    const sessions = await prometheus.query(queryOf('Sessions'));
    expect(sessions.reduce((sum, { value }) => sum + value, 0)).toBe(2);
  });
});
