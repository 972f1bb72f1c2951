/** A real collectd with the shipped configuration reads a real sidecar: the collected values must equal what the clients sent. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  type ConsumedSidecar,
  ROOT,
  SENT,
  SHIPPED_ADDRESS,
  startConsumedSidecar,
} from '../../support/consumers/consumed-sidecar.ts';
import { type Defer, deferTo, temporaryFolder } from '../../support/deferred.ts';
import { isAvailable } from '../../support/programs.ts';
import { startProgram } from '../../support/running-program.ts';

const WAIT = { timeout: 20_000, interval: 100 };
const COLLECTD = '/usr/sbin/collectd';
/** Needs libyajl2 and libcurl3-gnutls, which `collectd-core` only suggests. */
const PLUGIN = '/usr/lib/collectd/curl_json.so';

function isInstalled(): boolean {
  if (!existsSync(COLLECTD) || !existsSync(PLUGIN)) return false;
  const { status, stdout } = spawnSync('ldd', [PLUGIN], { encoding: 'utf8' });
  return status === 0 && !stdout.includes('not found');
}

/** The shipped configuration, with the sidecar's address and a short interval. */
function shippedFor(monitor: string): string {
  const shipped = readFileSync(path.join(ROOT, 'config/collectd/d2-sidecar.conf'), 'utf8');
  expect(shipped).toContain(`http://${SHIPPED_ADDRESS}/`);
  return shipped.replaceAll(SHIPPED_ADDRESS, monitor).replace(/^(\s*Interval) \d+$/gm, '$1 1');
}

/** In the foreground; `configuration` is included into one that writes values to standard output. */
function startCollectd(defer: Defer, configuration: string) {
  const folder = temporaryFolder(defer);
  writeFileSync(path.join(folder, 'included.conf'), configuration);
  writeFileSync(path.join(folder, 'collectd.conf'), mainConfiguration(folder));
  const args = ['-f', '-C', path.join(folder, 'collectd.conf')];
  const { child } = startProgram(defer, COLLECTD, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  /** The last value of each series by its name without the host, e.g. `curl_json-d2/derive-rpc_calls`. */
  const values = new Map<string, number>();
  const log: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream! }).on('line', (line) => {
      const [, series, value] = /^PUTVAL plant\/(.+) interval=\S+ [\d.]+:(\S+)$/.exec(line) ?? [];
      if (series === undefined) log.push(line);
      else values.set(series, Number(value));
    });
  }
  return { values, log };
}

const mainConfiguration = (folder: string) => `Hostname "plant"
FQDNLookup false
BaseDir "${folder}"
PIDFile "${folder}/collectd.pid"
TypesDB "/usr/share/collectd/types.db"
Interval 1
LoadPlugin logfile
<Plugin logfile>
  LogLevel "info"
  File stdout
</Plugin>
LoadPlugin csv
<Plugin csv>
  DataDir "stdout"
</Plugin>
Include "${folder}/included.conf"
`;

describe.runIf(isAvailable('collectd', isInstalled()))('a real collectd', () => {
  const defer = deferTo(afterAll);
  let sidecar: ConsumedSidecar;
  let collectd: ReturnType<typeof startCollectd>;
  beforeAll(async () => {
    sidecar = await startConsumedSidecar(defer);
    collectd = startCollectd(defer, shippedFor(sidecar.monitor));
    const series = ['d2/derive-rpc_calls', 'd2_jvm/gauge-heap_used'].map((name) => `curl_json-${name}`);
    await vi.waitFor(() => expect([...collectd.values.keys()]).toEqual(expect.arrayContaining(series)), WAIT);
  });

  const valuesOf = (series: readonly string[]) =>
    Object.fromEntries(series.map((name) => [name, collectd.values.get(`curl_json-${name}`)]));

  it('collects what the clients sent', async () => {
    const sent = {
      ...{ 'd2/derive-rpc_calls': SENT.rpcCalls, 'd2/derive-rpc_errors': SENT.rpcErrors },
      ...{ 'd2/derive-sba_calls': SENT.sbaCalls, 'd2/derive-object_values': SENT.values },
      ...{ 'd2/gauge-sessions_active': SENT.sessions, 'd2/gauge-objects_monitored': 0 },
      'd2/derive-timers-rpc.E.Demo.TestInOut-count': SENT.testInOut,
      'd2/derive-timers-rpc.E.Demo.Slow-count': SENT.slow,
      'd2/derive-timers-sba.Trend.Read-count': SENT.sbaCalls,
      'd2/derive-timers-sessions.created-count': SENT.sessions,
      'd2/derive-meters-rpc.E.Demo.Fail.errors-count': 1,
      'd2/derive-meters-object.H.Level.newValues-count': 2,
      'd2/gauge-counters-object.H.Level.subscriptions-count': 0,
      ...{ 'd2_jvm/gauge-heap_used': SENT.heapUsed, 'd2_jvm/gauge-heap_max': SENT.heapMax },
      'd2_jvm/gauge-classes_loaded': SENT.classesLoaded,
    };
    await expect.poll(() => valuesOf(Object.keys(sent)), WAIT).toEqual(sent);
    // Durations are in seconds.
    for (const series of ['response_time-rpc_p99', 'response_time-timers-rpc.E.Demo.Slow-p99']) {
      const seconds = collectd.values.get(`curl_json-d2/${series}`);
      expect(seconds, series).toBeGreaterThan((SENT.slowMs - 2) / 1_000);
      expect(seconds, series).toBeLessThan(10);
    }
  });

  it('sees counters grow, and new names appear, and logs no complaint', async () => {
    await sidecar.call('rpc/E.Demo/New');
    const now = { 'd2/derive-rpc_calls': SENT.rpcCalls + 1, 'd2/derive-timers-rpc.E.Demo.New-count': 1 };
    await expect.poll(() => valuesOf(Object.keys(now)), WAIT).toEqual(now);
    // A slow machine is not the sidecar's fault.
    const usual = /plugin_load|Initialization complete|above its read interval/;
    expect(collectd.log.filter((line) => !usual.test(line))).toEqual([]);
  });
});
