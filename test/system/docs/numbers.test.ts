/** docs/statistics.md defines every number of a running sidecar that has everything switched on; /metrics has all families. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { ARCHIVE_METRICS } from '../../../src/archive/archive-metrics.ts';
import { DEFINITIONS } from '../../../src/base/definitions.ts';
import { METRICS } from '../../../src/sidecar/metrics.ts';
import { NO_SQLITE } from '../../support/archive/minutes.ts';
import { deferTo } from '../../support/deferred.ts';
import { ROOT, readDocument } from '../../support/docs/documents.ts';
import { Folder, tokenLine } from '../../support/monitor/access/access-files.ts';
import { portOf, restCall, send, startApplication } from '../../support/net.ts';
import { startConfigured } from '../../support/sidecar-process.ts';
import { CertificateFolder } from '../../support/tls/certificates.ts';

const DOCUMENT = readDocument('docs/statistics.md').text;
/** With what exporters tell about Tomcat, threads and process beside it. */
const SERVER = `tomcat_threads_busy_threads{name="http-nio-8080"} 17
tomcat_threads_config_max_threads{name="http-nio-8080"} 200
tomcat_connections_current_connections{name="http-nio-8080"} 40
jvm_threads_current 64
jvm_threads_daemon 60
jvm_threads_peak 70
process_start_time_seconds 1.7e9
process_cpu_seconds_total 12.5
process_resident_memory_bytes 5e8
process_open_fds 120
process_max_fds 1024
`;
const JVM = readFileSync(path.join(ROOT, 'test/fixtures/jvm/http/prometheus/client-java-1.txt'), 'utf8') + SERVER;
const ADMIN = '/smartWeb/api/rest/v0/admin';

const ROW = /^\| (`[^|]+) \| [^|]{4,} \|/gm;
const ITEM = /^- (`[^:]+): .{4}/gm;
/** The names in code in the first cells of rows with a definition, and before the colon of items. */
const DEFINED = new Set(
  [...DOCUMENT.matchAll(ROW), ...DOCUMENT.matchAll(ITEM)].flatMap(([, first = '']) => {
    const names = [...first.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
    // `jvm.memory.heap.init`, `.used`: the second is short for `jvm.memory.heap.used`.
    const stem = (names[0] ?? '').replace(/\.\w+$/, '');
    return names.map((name) => (name.startsWith('.') ? stem + name : name));
  }),
);

/** The names that no row of the document defines: `a.b`, or a group `a.*`. */
const undefinedIn = (names: Iterable<string>) =>
  [...names].filter((name) => !DEFINED.has(name) && !DEFINED.has(name.replace(/\.[\w-]+$/, '.*')));

/** As written in the document: `rpc.<name>.errors` for `rpc.E.Demo.Quick.errors`. */
function toWritten(metric: string): string {
  return metric
    .replace(/^(rpc|sba)\.(?!errors$).+?(\.errors)?$/, '$1.<name>$2')
    .replace(/^object\..+\.(subscriptions|newValues)$/, 'object.<name>.$1')
    .replace(/^(jvm\.memory\.pools)\..+\.([\w-]+)$/, '$1.<pool>.$2')
    .replace(/^(jvm\.garbagecollector)\..+\.(\w+)$/, '$1.<collector>.$2');
}

const SECTIONS = ['gauges', 'counters', 'histograms', 'meters', 'timers'] as const;
type Metrics = Readonly<Record<(typeof SECTIONS)[number], Readonly<Record<string, Readonly<Record<string, unknown>>>>>>;

const defer = deferTo(afterAll);
const folder = new Folder();
const certificates = new CertificateFolder();
defer(() => [folder, certificates].map((each) => each.remove()));
const { token, line } = tokenLine('reader', 'sessions');

async function read(target: string) {
  const answer = await send(portOf(sidecar.monitor), target, { headers: { authorization: `Bearer ${token}` } });
  expect([target, answer.status]).toEqual([target, 200]);
  return answer;
}

const readMetrics = async (target: string) => JSON.parse((await read(ADMIN + target)).body) as Metrics;

const upstream = await startApplication(({ url }, response) => response.end(url === '/jvm' ? JVM : 'ok'));
defer(() => upstream.close());
const origin = `http://127.0.0.1:${upstream.port}`;
const pair = certificates.signed(certificates.authority(), { name: 'localhost' });
const sidecar = await startConfigured(defer, `${origin}/smartWeb`, {
  listen: { tls: pair },
  monitor: { auth: { tokensFile: folder.write('tokens', line) } },
  calls: { targets: [{ name: 'E.*', within: '1s', share: 0.9 }] },
  state: { file: path.join(folder.path, 'state'), interval: '1s' },
  history: { file: path.join(folder.path, 'history.db') },
  accessLog: { file: path.join(folder.path, 'access.log') },
  otlp: { endpoint: origin, traces: { enabled: true } },
  alerts: { webhook: { url: `${origin}/hook` } },
  jvm: { interval: '1s', http: { kind: 'prometheus', url: `${origin}/jvm` } },
});
for (const path of ['rpc/E.Demo/Quick', 'sba/E.Files/Download', 'object/H.Level']) {
  await restCall(portOf(sidecar.listen), path, 'ann', { protocol: 'https:', rejectUnauthorized: false });
}
let metrics = '';
const isWhole = async () => {
  metrics = (await read('/metrics')).body;
  const last = ['jvm_classes_currently_loaded', 'd2_sidecar_state_last_save_seconds '];
  return [...last, ...(NO_SQLITE ? [] : ['d2_sidecar_history_file_bytes '])].every((name) => metrics.includes(name));
};
await vi.waitUntil(isWhole, { timeout: 15_000, interval: 100 });

/** Described families that this sidecar does not show. */
const NOT_SHOWN = [
  'd2_calls_hung', // Nothing hangs.
  'd2_server_deadlocked_threads', // Without a thread dump.
  'd2_server_processors', // Only of a process on this machine.
  'd2_sidecar_thread_dumps_total', // diagnosis.threads is not configured.
  'd2_sidecar_jvm_bounds_hit_total', // Only of sources that search for the JVM.
  'd2_sidecar_alerts_failure_info', // No message has failed.
  'd2_sidecar_otlp_up', // Nothing has been sent yet.
  'd2_sidecar_stop_left_seconds', // It does not stop.
  'd2_sidecar_upstream_tls_failures_total', // The upstream speaks no TLS.
  ...(NO_SQLITE ? ARCHIVE_METRICS.map(({ name }) => name) : []),
];

describe('/metrics', () => {
  it('shows every family that a room describes, with the labels that it describes', () => {
    const described = Object.values(METRICS).flatMap((list) => list.filter(({ name }) => !NOT_SHOWN.includes(name)));
    const shown = [...metrics.matchAll(/^# TYPE (\S+) .+\n(.*)/gm)].map(([, name, sample = '']) => {
      const labels = [...sample.matchAll(/[{,](\w+)="/g)].map(([, label]) => label).filter((label) => label !== 'le');
      return { name, labels };
    });
    expect(shown).toEqual(described.map(({ name, labels }) => ({ name, labels })));
  });

  it('has every family that docs/statistics.md explains', () => {
    const families = new Set(Object.values(METRICS).flatMap((list) => list.map(({ name }) => name)));
    const explained = [...DEFINED].filter((name) => /^(?:d2|jvm|process|nodejs)_\w+$/.test(name));
    expect(explained.length).toBeGreaterThan(20);
    expect(explained.filter((name) => !families.has(name))).toEqual([]);
  });
});

const namesIn = (document: Metrics) => SECTIONS.flatMap((section) => Object.keys(document[section])).map(toWritten);

describe('docs/statistics.md defines', () => {
  it.each(['/metrics/d2', '/metrics/jvm'])('every name of %s', async (target) => {
    const names = new Set(namesIn(await readMetrics(target)));
    expect(names.size).toBeGreaterThan(12);
    expect(undefinedIn(names)).toEqual([]);
  });

  it('every field of an answer and of a session, and every header that gives the age of numbers', async () => {
    const document = await readMetrics('/metrics/d2');
    const [session] = JSON.parse((await read(`${ADMIN}/d2/sessions`)).body) as [Record<string, string>];
    expect(undefinedIn(Object.keys({ ...document.timers.rpc, ...session }))).toEqual([]);
    expect(undefinedIn(namesIn(await readMetrics(`/metrics/d2?session=${session.id}`)))).toEqual([]);
    const parts = [document, document.meters['rpc.errors'], document.gauges['sessions.active']];
    const fields = parts.flatMap((part) => Object.keys(part ?? {}));
    expect(fields.length).toBeGreaterThan(10);
    const ages = ['Metrics-Window', 'Metrics-Source', 'Age'];
    const { headers } = await read(`${ADMIN}/metrics/jvm`);
    expect(Object.keys(headers)).toEqual(expect.arrayContaining(ages.map((field) => field.toLowerCase())));
    expect([...fields, ...ages].filter((field) => !DOCUMENT.includes(`\`${field}\``))).toEqual([]);
  });

  it('every term of the live page', () => {
    const section = /\n## The live page\n(.*?)\n## /s.exec(DOCUMENT)?.[1]?.toLowerCase() ?? '';
    const terms = Object.values(DEFINITIONS).map(({ term }) => term);
    const missing = terms.filter((term) => !section.includes(term.toLowerCase()));
    expect(missing.filter((term) => term !== 'Name of a call' && term !== 'Object')).toEqual([]);
  });
});
