/** `metrics.prometheus` on a running sidecar: real calls, and scrapes of `/metrics`. */
import { expect, it, onTestFinished } from 'vitest';
import { sumOf } from '../../support/monitor/prometheus/samples.ts';
import { restCall } from '../../support/net.ts';
import { startStand } from '../../support/wire/stand.ts';

const respond = (request: string) =>
  `HTTP/1.1 ${request.includes('Fail') ? '500 Oops' : '200 OK'}\r\nContent-Length: 2\r\n\r\nok`;

it('buckets, names and totals hold in a scrape, and no counter falls when a name gives way and returns', async () => {
  const stand = await startStand({
    onConnection: (socket) => socket.on('data', (bytes) => socket.write(respond(bytes.toString('latin1')))),
    config: ({ metrics }) => ({
      metrics: {
        ...metrics,
        maxNames: { rpc: 2, sba: 2, object: 10 },
        prometheus: { objects: 'totals', buckets: [0.5, 60], names: 2 },
      },
    }),
  });
  onTestFinished(() => stand.close());
  const last = new Map<string, number>();
  const scrapeAfter = async (...paths: string[]) => {
    for (const path of paths) await restCall(stand.port, path);
    const samples = await stand.samples();
    for (const [key, value] of samples) {
      if (!/^d2_calls?_.*(_total|_count|_bucket)\{/.test(key)) continue;
      expect(value, key).toBeGreaterThanOrEqual(last.get(key) ?? 0);
      last.set(key, value);
    }
    return samples;
  };
  const own = 'd2_calls_total{application="smartWeb",kind="rpc",name="E.Demo.Fail",outcome="error"}';
  const rest = own.replace('E.Demo.Fail', '(other)');

  const first = await scrapeAfter('rpc/E.Demo/Fail', 'rpc/E.Demo/Fail', 'rpc/E.Demo/A', 'object/H.A', 'object/H.B');
  expect(first.get(own)).toBe(2);
  const bounds = [...first.keys()].filter((key) => key.startsWith('d2_call_duration_seconds_bucket{'));
  expect(new Set(bounds.map((key) => /le="(.*)"/.exec(key)?.[1]))).toEqual(new Set(['0.5', '60.0', '+Inf']));
  expect([...first.keys()].filter((key) => key.startsWith('d2_object_') && key.includes('name='))).toEqual([]);

  // The success of a new name takes the place of the one that only failed, which then has room again.
  await restCall(stand.port, 'rpc/E.Demo/B');
  const { statistics } = stand.sidecar.recorder.applications.get('smartWeb') as NonNullable<
    ReturnType<typeof stand.sidecar.recorder.applications.get>
  >;
  statistics.limitNames({ maxNames: { rpc: 9, sba: 9, object: 9 }, maxNamesPerSession: 9 });
  const second = await scrapeAfter(...Array<string>(3).fill('rpc/E.Demo/Fail'));
  expect(statistics.rpc.countsByName.get('E.Demo.Fail')?.errors).toBe(3);
  expect([second.get(own), second.get(rest)]).toEqual([undefined, 5]);
  expect(sumOf(second, 'd2_calls_total', 'kind="rpc"')).toBe(7);
  expect(sumOf(second, 'd2_call_duration_seconds_count', 'kind="rpc"')).toBe(7);
});
