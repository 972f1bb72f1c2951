/**
 * Tomcat's JMXProxyServlet (`/manager/jmxproxy`), role manager-jmx: reads the four kinds of MXBeans in one request, and
 * threads, processor time, descriptors and connectors in further ones.
 */
import { NS_PER_S } from '../../base/clock.ts';
import type { JvmReading } from '../jvm-reading.ts';
import { JvmSourceError } from '../jvm-source.ts';
import { adviceForManager } from './http-errors.ts';
import type { HttpKind } from './http-source.ts';
import { MAX_BEANS, type RawUsage, ReadingBuilder } from './reading-builder.ts';

export const TOMCAT_JMXPROXY: HttpKind = {
  name: 'tomcat-jmxproxy',
  defaultPath: '/manager',
  // Matches ClassLoading, Memory, MemoryPool and GarbageCollector (also Compilation and MemoryManager), but not Runtime,
  // whose system properties may contain passwords.
  path: `/jmxproxy/?qry=${encodeURIComponent('java.lang:type=*o*,*')}`,
  further: [
    { path: `/jmxproxy/?qry=${encodeURIComponent('java.lang:type=Threading')}` },
    { path: `/jmxproxy/?qry=${encodeURIComponent('java.lang:type=OperatingSystem')}` },
    { path: `/jmxproxy/?qry=${encodeURIComponent('*:type=ThreadPool,name=*')}` },
    // One attribute only: the system properties may contain passwords.
    { path: `/jmxproxy/?get=${encodeURIComponent('java.lang:type=Runtime')}&att=StartTime` },
  ],
  accept: 'text/plain',
  advice: adviceForManager('manager-jmx'),
  parse: parseJmxProxy,
};

interface Bean {
  readonly type: string;
  readonly attributes: Map<string, string>;
}

/** The only attributes that are kept. LastGcInfo, most of the text, is not among them. */
const ATTRIBUTES = new Set([
  'Name',
  'Type',
  'Usage',
  'CollectionUsage',
  'HeapMemoryUsage',
  'NonHeapMemoryUsage',
  'TotalLoadedClassCount',
  'UnloadedClassCount',
  'CollectionCount',
  'CollectionTime',
  'ThreadCount',
  'DaemonThreadCount',
  'PeakThreadCount',
  'ProcessCpuTime',
  'OpenFileDescriptorCount',
  'MaxFileDescriptorCount',
  'AvailableProcessors',
  'name',
  'currentThreadsBusy',
  'maxThreads',
  'connectionCount',
]);

/**
 * Parses e.g. `OK - Number of results: 15`, an empty line, then for each MXBean `Name: java.lang:type=Memory` and its
 * attributes. Lines end in LF or CRLF. Throws `D2S_ERR_JVM_FORMAT`, or `D2S_ERR_JVM_NOT_FOUND` for no result.
 */
export function parseJmxProxy(text: string, further: readonly (string | undefined)[] = []): JvmReading {
  refuseFailure(text);
  const builder = new ReadingBuilder();
  for (const bean of toBeans(text)) addBean(builder, bean);
  addServer(builder, further);
  return builder.build(
    'D2S_ERR_JVM_FORMAT',
    'Tomcat’s JMX proxy named none of the platform’s beans. Is it really a Tomcat on HotSpot?',
  );
}

function addServer(builder: ReadingBuilder, [threads, system, pools, started]: readonly (string | undefined)[]): void {
  const [threading] = toFurtherBeans(threads);
  const number = (bean: Bean | undefined, key: string) => toNumber(bean?.attributes.get(key));
  const count = (key: string) => number(threading, key);
  builder.setThreads(count('ThreadCount'), count('DaemonThreadCount'), count('PeakThreadCount'));
  const [operatingSystem] = toFurtherBeans(system);
  const ofSystem = (key: string) => number(operatingSystem, key);
  const startTime = /^OK - .* = (\d{1,15})\s*$/.exec(started ?? '')?.[1];
  const cpuNs = ofSystem('ProcessCpuTime');
  if (startTime !== undefined) {
    builder.setProcess(startTime, {
      cpuSeconds: cpuNs === undefined ? undefined : cpuNs / NS_PER_S,
      residentBytes: undefined,
      openDescriptors: ofSystem('OpenFileDescriptorCount'),
      maxDescriptors: ofSystem('MaxFileDescriptorCount'),
      processors: ofSystem('AvailableProcessors'),
    });
  }
  for (const pool of toFurtherBeans(pools)) {
    const busy = number(pool, 'currentThreadsBusy');
    // The connectors' socket beans have the same type.
    if (busy === undefined) continue;
    builder.addConnector(
      pool.attributes.get('name'),
      busy,
      number(pool, 'maxThreads'),
      number(pool, 'connectionCount'),
    );
  }
}

/** Empty for an unreadable answer: these values are optional. */
function toFurtherBeans(text: string | undefined): readonly Bean[] {
  if (text === undefined || !text.startsWith('OK - ')) return [];
  try {
    return [...toBeans(text)].slice(0, MAX_BEANS);
  } catch {
    return [];
  }
}

function refuseFailure(text: string): void {
  // Failures have status 200: `Error - javax.management.InstanceNotFoundException: ...`, then a stack trace. Only the
  // class of the exception is reported: its message may contain details of the server.
  const failure = /^Error - (?:([\w.$]{1,200}(?:Exception|Error))(?![\w.$]))?/.exec(text);
  if (failure !== null) {
    const what = failure[1] ?? 'an error';
    throw new JvmSourceError('D2S_ERR_JVM_FORMAT', `Tomcat's JMX proxy failed with ${what}; see Tomcat's log.`);
  }
  const results = /^OK - Number of results: (\d{1,9})\r?\n/.exec(text);
  if (results === null)
    throw new JvmSourceError(
      'D2S_ERR_JVM_FORMAT',
      `The answer is not from Tomcat's JMX proxy. jvm.http.url should be that of the manager web application, e.g. http://127.0.0.1:8080/manager.`,
    );
  if (Number(results[1]) === 0)
    throw new JvmSourceError('D2S_ERR_JVM_NOT_FOUND', "Tomcat's JMX proxy does not show the beans of java.lang.");
}

function* toBeans(text: string): Generator<Bean> {
  let bean: Bean | undefined;
  // The first block is the number of results; each block ends with an empty line.
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const name = bean === undefined ? /^Name: ([\w.]+:[^\r]+)\r?$/.exec(line) : null;
    if (name !== null) {
      bean = { type: typeOf(name[1] as string), attributes: new Map() };
    } else if (bean !== undefined && line.trim() === '') {
      yield bean;
      bean = undefined;
    } else if (bean !== undefined) {
      addAttribute(bean, line);
    }
  }
  if (bean !== undefined)
    throw new JvmSourceError('D2S_ERR_JVM_FORMAT', "The answer of Tomcat's JMX proxy ends in the middle of a bean.");
}

/** `MemoryPool` for `java.lang:name=G1 Eden Space,type=MemoryPool`, in any order. */
function typeOf(objectName: string): string {
  return /[:,]type=([^,]*)/.exec(objectName)?.[1] ?? '';
}

function addAttribute({ attributes }: Bean, line: string): void {
  const colon = line.indexOf(': ');
  const key = line.slice(0, Math.max(colon, 0));
  // Lines of an array begin with a tab, so they never match.
  if (ATTRIBUTES.has(key)) attributes.set(key, line.slice(colon + 2).trimEnd());
}

function addBean(builder: ReadingBuilder, { type, attributes }: Bean): void {
  const usage = (key: string) => toUsage(attributes.get(key));
  const number = (key: string) => toNumber(attributes.get(key));
  if (type === 'ClassLoading') builder.setClasses(number('TotalLoadedClassCount'), number('UnloadedClassCount'));
  if (type === 'GarbageCollector')
    builder.addCollector(attributes.get('Name'), number('CollectionCount'), number('CollectionTime'));
  if (type === 'MemoryPool') {
    const usedAfterGc = attributes.get('Type') === 'HEAP' ? usage('CollectionUsage').used : undefined;
    builder.addPool(attributes.get('Name'), usage('Usage'), usedAfterGc);
  }
  if (type === 'Memory') {
    builder.setHeap(usage('HeapMemoryUsage'));
    builder.setNonHeap(usage('NonHeapMemoryUsage'));
  }
}

/** `{committed=1, init=2, max=-1, used=3}`, alone or in `CompositeDataSupport(compositeType=…,contents={…})`. */
function toUsage(text = ''): RawUsage {
  // The last braces: a type, if printed, has none or comes before.
  const end = text.lastIndexOf('}');
  const contents = text.slice(text.lastIndexOf('{', end) + 1, Math.max(end, 0));
  const fields = new Map(contents.split(',').map((field) => splitOnce(field.trim())));
  const number = (key: string) => toNumber(fields.get(key));
  return { init: number('init'), used: number('used'), committed: number('committed'), max: number('max') };
}

function splitOnce(field: string): [string, string] {
  const at = Math.max(field.indexOf('='), 0);
  return [field.slice(0, at), field.slice(at + 1)];
}

function toNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^-?\d{1,16}$/.test(text) ? Number(text) : undefined;
}
