/**
 * Jolokia 1 and 2, agent or web application: reads the four kinds of MXBeans in one bulk request, and threads,
 * processor time, descriptors and Tomcat's connectors in another.
 */
import type { JvmReading } from '../jvm-source.ts';
import type { HttpKind } from './http-source.ts';
import { entriesOf, fieldOf, formatError, parseJson, parseOptionalJson } from './json.ts';
import { MAX_BEANS, ReadingBuilder, typeOfBean } from './reading-builder.ts';

const REQUESTS = [
  { mbean: 'java.lang:type=Memory', attribute: ['HeapMemoryUsage', 'NonHeapMemoryUsage'] },
  { mbean: 'java.lang:type=ClassLoading', attribute: ['TotalLoadedClassCount', 'UnloadedClassCount'] },
  { mbean: 'java.lang:type=MemoryPool,name=*', attribute: ['Name', 'Type', 'Usage', 'CollectionUsage'] },
  { mbean: 'java.lang:type=GarbageCollector,name=*', attribute: ['Name', 'CollectionCount', 'CollectionTime'] },
];

/** Only the start time of the runtime: its system properties may contain passwords. */
const FURTHER = [
  { mbean: 'java.lang:type=Threading', attribute: ['ThreadCount', 'DaemonThreadCount', 'PeakThreadCount'] },
  { mbean: 'java.lang:type=OperatingSystem', attribute: ['ProcessCpuTime', 'AvailableProcessors'] },
  { mbean: 'java.lang:type=OperatingSystem', attribute: ['OpenFileDescriptorCount', 'MaxFileDescriptorCount'] },
  { mbean: 'java.lang:type=Runtime', attribute: ['StartTime'] },
  { mbean: '*:type=ThreadPool,name=*', attribute: ['name', 'currentThreadsBusy', 'maxThreads', 'connectionCount'] },
];

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
    throw formatError(
      `The answer to a bulk request is not Jolokia’s (${describeStatus(fieldOf(answer, 'status'))}). jvm.http.url should be Jolokia's own address.`,
    );
  const statuses = answer.map((element) => fieldOf(element, 'status'));
  const builder = new ReadingBuilder();
  addBeans(builder, REQUESTS, answer);
  addBeans(builder, FURTHER, parseOptionalJson(further));
  const isForbidden = statuses.includes(403);
  return isForbidden
    ? builder.build(
        'Jolokia’s policy (jolokia-access.xml) forbids reading java.lang:*; allow the command read for it.',
        'D2S_ERR_JVM_ACCESS',
      )
    : builder.build(`Jolokia read none of the platform's beans (${statuses.map(describeStatus).join(', ')}).`);
}

/** Finds answers by index: Jolokia 2 may omit the request, and each version orders the names of its answer differently. */
function addBeans(builder: ReadingBuilder, requests: typeof REQUESTS, answer: unknown): void {
  for (const [index, { mbean }] of requests.entries()) {
    const element = fieldOf(answer, String(index));
    const value = fieldOf(element, 'status') === 200 ? fieldOf(element, 'value') : undefined;
    const beans = mbean.includes('*') ? entriesOf(value, MAX_BEANS + 1).map(([, bean]) => bean) : [value];
    for (const bean of beans) builder.addBean(typeOfBean(mbean), bean);
  }
}

function describeStatus(status: unknown): string {
  return typeof status === 'number' && Number.isInteger(status) ? `status ${status}` : 'no status';
}
