/** A real collectd of Debian's package `collectd-core`, in the foreground, which prints the values that it collects. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { type Defer, temporaryFolder } from '../../support/deferred.ts';
import { exitOf, stopProcess } from '../../support/sidecar-process.ts';

const COLLECTD = '/usr/sbin/collectd';
const PLUGIN = '/usr/lib/collectd/curl_json.so';

export interface CollectdDaemon {
  /** The last value of each series by its name without the host, e.g. `curl_json-d2/derive-rpc_calls`. */
  readonly values: ReadonlyMap<string, number>;
  readonly log: readonly string[];
}

/** The plugin needs libyajl2 and libcurl3-gnutls, which `collectd-core` only suggests. */
export function isCollectdInstalled(): boolean {
  if (!existsSync(COLLECTD) || !existsSync(PLUGIN)) return false;
  const { status, stdout } = spawnSync('ldd', [PLUGIN], { encoding: 'utf8' });
  return status === 0 && !stdout.includes('not found');
}

/** Runs with `configuration` included into one that writes values to standard output. */
export function startCollectd(defer: Defer, configuration: string): CollectdDaemon {
  const folder = temporaryFolder(defer);
  const included = path.join(folder, 'included.conf');
  const main = path.join(folder, 'collectd.conf');
  writeFileSync(included, configuration);
  writeFileSync(main, mainConfiguration(folder, included));
  const child = spawn(COLLECTD, ['-f', '-C', main], { stdio: ['ignore', 'pipe', 'pipe'] });
  const values = new Map<string, number>();
  const log: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      const [, series, value] = /^PUTVAL plant\/(.+) interval=\S+ [\d.]+:(\S+)$/.exec(line) ?? [];
      if (series === undefined) log.push(line);
      else values.set(series, Number(value));
    });
  }
  const exited = exitOf(child);
  defer(() => stopProcess(child, exited, 'SIGTERM'));
  return { values, log };
}

function mainConfiguration(folder: string, included: string): string {
  return `Hostname "plant"
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
Include "${included}"
`;
}
