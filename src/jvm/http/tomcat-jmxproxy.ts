/**
 * Tomcat's JMXProxyServlet (`/manager/jmxproxy`), role manager-jmx: reads the four kinds of MXBeans in one request, and
 * threads, processor time, descriptors and connectors in further ones.
 */
import { attempt } from '../../base/attempt.ts';
import { type JvmReading, JvmSourceError } from '../jvm-source.ts';
import { adviceForManager } from './http-errors.ts';
import type { HttpKind } from './http-source.ts';
import { formatError } from './json.ts';
import { MAX_BEANS, ReadingBuilder, typeOfBean } from './reading-builder.ts';

export const TOMCAT_JMXPROXY: HttpKind = {
  name: 'tomcat-jmxproxy',
  defaultPath: '/manager',
  // Matches ClassLoading, Memory, MemoryPool and GarbageCollector (also Compilation and MemoryManager), but not Runtime,
  // whose system properties may contain passwords.
  path: `/jmxproxy/?qry=${encodeURIComponent('java.lang:type=*o*,*')}`,
  further: [
    // One attribute only: the system properties may contain passwords.
    { path: `/jmxproxy/?get=${encodeURIComponent('java.lang:type=Runtime')}&att=StartTime` },
    { path: `/jmxproxy/?qry=${encodeURIComponent('java.lang:type=Threading')}` },
    { path: `/jmxproxy/?qry=${encodeURIComponent('java.lang:type=OperatingSystem')}` },
    { path: `/jmxproxy/?qry=${encodeURIComponent('*:type=ThreadPool,name=*')}` },
  ],
  accept: 'text/plain',
  advice: adviceForManager('manager-jmx'),
  parse: parseJmxProxy,
};

interface Bean {
  readonly type: string;
  readonly attributes: Record<string, unknown>;
}

/**
 * Parses e.g. `OK - Number of results: 15`, an empty line, then for each MXBean `Name: java.lang:type=Memory` and its
 * attributes. Lines end in LF or CRLF. Throws `D2S_ERR_JVM_FORMAT`, or `D2S_ERR_JVM_NOT_FOUND` for no result.
 */
export function parseJmxProxy(text: string, further: readonly (string | undefined)[] = []): JvmReading {
  refuseFailure(text);
  const builder = new ReadingBuilder();
  const [started, ...optional] = further;
  const beans = [...parseBeans(text), ...optional.flatMap(parseOptionalBeans)];
  for (const { type, attributes } of beans) builder.addBean(type, attributes);
  const startTime = /^OK - .* = (\d{1,15})\s*$/.exec(started ?? '')?.[1];
  if (startTime !== undefined) builder.addBean('Runtime', { StartTime: Number(startTime) });
  return builder.build('Tomcat’s JMX proxy named none of the platform’s beans. Is it really a Tomcat on HotSpot?');
}

/** Empty for an unreadable answer: these values are optional. */
function parseOptionalBeans(text: string | undefined): readonly Bean[] {
  if (text === undefined || !text.startsWith('OK - ')) return [];
  return attempt(() => [...parseBeans(text)].slice(0, MAX_BEANS)) ?? [];
}

function refuseFailure(text: string): void {
  // Failures have status 200: `Error - javax.management.InstanceNotFoundException: ...`, then a stack trace. Only the
  // class of the exception is reported: its message may contain details of the server.
  const failure = /^Error - (?:([\w.$]{1,200}(?:Exception|Error))(?![\w.$]))?/.exec(text);
  if (failure !== null) {
    const what = failure[1] ?? 'an error';
    throw formatError(`Tomcat's JMX proxy failed with ${what}; see Tomcat's log.`);
  }
  const results = /^OK - Number of results: (\d{1,9})\r?\n/.exec(text);
  if (results === null)
    throw formatError(
      `The answer is not from Tomcat's JMX proxy. jvm.http.url should be that of the manager web application, e.g. http://127.0.0.1:8080/manager.`,
    );
  if (Number(results[1]) === 0)
    throw new JvmSourceError('D2S_ERR_JVM_NOT_FOUND', "Tomcat's JMX proxy does not show the beans of java.lang.");
}

function* parseBeans(text: string): Generator<Bean> {
  let bean: Bean | undefined;
  // The first block is the number of results; each block ends with an empty line.
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const name = bean === undefined ? /^Name: ([\w.]+:[^\r]+)\r?$/.exec(line) : null;
    if (name !== null) {
      bean = { type: typeOfBean(name[1] as string), attributes: {} };
    } else if (bean !== undefined && line.trim() === '') {
      yield bean;
      bean = undefined;
    } else if (bean !== undefined) {
      const colon = line.indexOf(': ');
      const key = line.slice(0, Math.max(colon, 0));
      // LastGcInfo is most of the text. Lines of an array begin with a tab.
      if (key !== 'LastGcInfo' && /^\w+$/.test(key)) bean.attributes[key] = parseValue(line.slice(colon + 2).trimEnd());
    }
  }
  if (bean !== undefined) throw formatError("The answer of Tomcat's JMX proxy ends in the middle of a bean.");
}

/** A number, a text, or `{committed=1, init=2, max=-1, used=3}`, alone or in `CompositeDataSupport(…,contents={…})`. */
function parseValue(text: string): unknown {
  // The last braces: a type, if printed, has none or comes before.
  const end = text.lastIndexOf('}');
  if (end < 0) return /^-?\d{1,16}$/.test(text) ? Number(text) : text;
  const contents = text.slice(text.lastIndexOf('{', end) + 1, end);
  // Fields that are no numbers are left out.
  const fields = contents.split(',').map((field) => /^([^=]*)=(-?\d{1,16})$/.exec(field.trim()) ?? []);
  return Object.fromEntries(
    fields.map(([, key = '', value]) => [key, value === undefined ? undefined : Number(value)]),
  );
}
