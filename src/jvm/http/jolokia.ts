/**
 * Jolokia 1 and 2, agent or web application: reads the four kinds of MXBeans in one bulk request, and threads,
 * processor time, descriptors and Tomcat's connectors in another.
 */
import { NS_PER_S } from '../../base/clock.ts';
import type { JvmReading } from '../jvm-reading.ts';
import { JvmSourceError } from '../jvm-source.ts';
import type { HttpKind } from './http-source.ts';
import { entriesOf, fieldOf, parseJson } from './json.ts';
import { MAX_BEANS, ReadingBuilder, usageOf } from './reading-builder.ts';

const REQUESTS = [
  { mbean: 'java.lang:type=Memory', attribute: ['HeapMemoryUsage', 'NonHeapMemoryUsage'] },
  { mbean: 'java.lang:type=ClassLoading', attribute: ['TotalLoadedClassCount', 'UnloadedClassCount'] },
  { mbean: 'java.lang:type=MemoryPool,name=*', attribute: ['Name', 'Type', 'Usage', 'CollectionUsage'] },
  { mbean: 'java.lang:type=GarbageCollector,name=*', attribute: ['Name', 'CollectionCount', 'CollectionTime'] },
] as const;

/** Only the start time of the runtime: its system properties may contain passwords. */
const FURTHER = [
  { mbean: 'java.lang:type=Threading', attribute: ['ThreadCount', 'DaemonThreadCount', 'PeakThreadCount'] },
  { mbean: 'java.lang:type=OperatingSystem', attribute: ['ProcessCpuTime', 'AvailableProcessors'] },
  { mbean: 'java.lang:type=OperatingSystem', attribute: ['OpenFileDescriptorCount', 'MaxFileDescriptorCount'] },
  { mbean: 'java.lang:type=Runtime', attribute: ['StartTime'] },
  {
    mbean: '*:type=ThreadPool,name=*',
    attribute: ['name', 'currentThreadsBusy', 'maxThreads', 'connectionCount'],
  },
] as const;

export const JOLOKIA: HttpKind = {
  name: 'jolokia',
  defaultPath: '/jolokia',
  // Without the slash, the root of a web application answers with a redirect.
  path: '/',
  accept: 'application/json, text/plain',
  body: JSON.stringify(REQUESTS.map((request) => ({ type: 'read', ...request }))),
  further: [{ path: '/', body: JSON.stringify(FURTHER.map((request) => ({ type: 'read', ...request }))) }],
  advice: {
    forbidden:
      'Its policy (jolokia-access.xml) must allow the sidecar’s address, the method POST and the command read of java.lang:*, and the user needs the role jolokia where the web application asks for it.',
    notFound: 'Does Jolokia answer at another path? jvm.http.url must name it, e.g. http://127.0.0.1:8778/jolokia.',
  },
  parse: parseJolokia,
};

/**
 * Parses the bulk answer: one element for each request, in the same order, each with its own `status`. A failed element
 * leaves its gauges out. Throws `D2S_ERR_JVM_FORMAT`, or `D2S_ERR_JVM_ACCESS` if the policy allows nothing.
 */
export function parseJolokia(text: string, [further]: readonly (string | undefined)[] = []): JvmReading {
  const answer = parseJson(text, 'Jolokia’s answer');
  if (!Array.isArray(answer) || answer.length !== REQUESTS.length)
    throw new JvmSourceError(
      'D2S_ERR_JVM_FORMAT',
      `The answer to a bulk request is not Jolokia’s (${describeStatus(fieldOf(answer, 'status'))}). jvm.http.url should be Jolokia's own address.`,
    );
  const statuses = answer.map((element) => fieldOf(element, 'status'));
  // By index: Jolokia 2 may omit the request, and each version orders the names of its answer differently.
  const [memory, classes, pools, collectors] = answer.map((element: unknown) =>
    fieldOf(element, 'status') === 200 ? fieldOf(element, 'value') : undefined,
  );
  const builder = new ReadingBuilder();
  builder.setHeap(usageOf(fieldOf(memory, 'HeapMemoryUsage')));
  builder.setNonHeap(usageOf(fieldOf(memory, 'NonHeapMemoryUsage')));
  builder.setClasses(fieldOf(classes, 'TotalLoadedClassCount'), fieldOf(classes, 'UnloadedClassCount'));
  for (const [, pool] of entriesOf(pools, MAX_BEANS + 1)) {
    const isHeap = fieldOf(pool, 'Type') === 'HEAP';
    const usedAfterGc = isHeap ? fieldOf(pool, 'CollectionUsage', 'used') : undefined;
    builder.addPool(fieldOf(pool, 'Name'), usageOf(fieldOf(pool, 'Usage')), usedAfterGc);
  }
  for (const [, collector] of entriesOf(collectors, MAX_BEANS + 1))
    builder.addCollector(
      fieldOf(collector, 'Name'),
      fieldOf(collector, 'CollectionCount'),
      fieldOf(collector, 'CollectionTime'),
    );
  addServer(builder, further);
  const isForbidden = statuses.includes(403);
  return builder.build(
    isForbidden ? 'D2S_ERR_JVM_ACCESS' : 'D2S_ERR_JVM_FORMAT',
    isForbidden
      ? 'Jolokia’s policy (jolokia-access.xml) forbids reading java.lang:*; allow the command read for it.'
      : `Jolokia read none of the platform's beans (${statuses.map(describeStatus).join(', ')}).`,
  );
}

/** Leaves out unreadable values: all of these are optional. */
function addServer(builder: ReadingBuilder, text: string | undefined): void {
  let answer: unknown;
  try {
    answer = text === undefined ? undefined : JSON.parse(text);
  } catch {
    return;
  }
  if (!Array.isArray(answer)) return;
  const [threads, system, descriptors, runtime, pools] = answer.map((element: unknown) =>
    fieldOf(element, 'status') === 200 ? fieldOf(element, 'value') : undefined,
  );
  const thread = (key: string) => fieldOf(threads, key);
  builder.setThreads(thread('ThreadCount'), thread('DaemonThreadCount'), thread('PeakThreadCount'));
  const startTime = fieldOf(runtime, 'StartTime');
  const cpuNs = fieldOf(system, 'ProcessCpuTime');
  if (typeof startTime === 'number') {
    builder.setProcess(String(startTime), {
      cpuSeconds: typeof cpuNs === 'number' ? cpuNs / NS_PER_S : undefined,
      residentBytes: undefined,
      openDescriptors: fieldOf(descriptors, 'OpenFileDescriptorCount'),
      maxDescriptors: fieldOf(descriptors, 'MaxFileDescriptorCount'),
      processors: fieldOf(system, 'AvailableProcessors'),
    });
  }
  for (const [, pool] of entriesOf(pools, MAX_BEANS)) {
    const of = (key: string) => fieldOf(pool, key);
    builder.addConnector(of('name'), of('currentThreadsBusy'), of('maxThreads'), of('connectionCount'));
  }
}

function describeStatus(status: unknown): string {
  return typeof status === 'number' && Number.isInteger(status) ? `status ${status}` : 'no status';
}
