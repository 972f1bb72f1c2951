/** The management API of WildFly and JBoss EAP over HTTP (standalone servers): one composite read of the MXBeans. */
import type { JvmReading } from '../jvm-source.ts';
import type { HttpKind } from './http-source.ts';
import { entriesOf, fieldOf, formatError, parseJson, parseOptionalJson } from './json.ts';
import { MAX_BEANS, ReadingBuilder } from './reading-builder.ts';

/** Without `runtime`: its system properties may contain passwords, and it needs more rights. */
const TYPES = ['class-loading', 'memory', 'memory-pool', 'garbage-collector'] as const;

/** More than any of these beans has. */
const MAX_ATTRIBUTES = 64;

const readOf = (...address: readonly object[]) => ({ operation: 'read-resource', address, 'include-runtime': true });
const ofBean = (type: string) => readOf({ 'core-service': 'platform-mbean' }, { type });

/** Separate requests: in a composite operation, a failed step rolls back all others. */
const FURTHER = [
  ofBean('threading'),
  // Requests run in its default worker.
  readOf({ subsystem: 'io' }, { worker: 'default' }),
];

export const WILDFLY: HttpKind = {
  name: 'wildfly',
  defaultPath: '/management',
  path: '',
  accept: 'application/json',
  body: JSON.stringify({
    operation: 'composite',
    address: [],
    steps: TYPES.map((type) => ({ ...ofBean(type), recursive: true })),
  }),
  further: FURTHER.map((operation) => ({ path: '', body: JSON.stringify(operation) })),
  advice: {
    forbidden:
      'The user (jvm.http.username), created by add-user in the realm ManagementRealm, needs the role Monitor.',
    notFound: 'jvm.http.url should be the management interface of a standalone server, e.g. http://127.0.0.1:9990.',
  },
  hasDigest: true,
  parse: parseWildFly,
};

/**
 * Parses `{"outcome":"success","result":{"step-1":{"outcome":"success","result":{...}}, ...}}`. A failed step leaves
 * its gauges out. Throws `D2S_ERR_JVM_FORMAT`.
 */
export function parseWildFly(text: string, further: readonly (string | undefined)[] = []): JvmReading {
  const answer = parseJson(text, 'The answer of WildFly’s management interface');
  if (fieldOf(answer, 'outcome') !== 'success') {
    const description = fieldOf(answer, 'failure-description');
    // For a composite operation it is an object whose only key is the message.
    const message = typeof description === 'string' ? description : entriesOf(description, 1)[0]?.[0];
    // E.g. `WFLYCTL0313`; the rest of a description is not trusted.
    const code = /\bWFLY[A-Z]{2,10}\d{4}\b/.exec(message ?? '')?.[0] ?? 'no code';
    throw formatError(`WildFly's management interface did not carry out the read (${code}); see the server's log.`);
  }
  const builder = new ReadingBuilder();
  for (const [index, type] of TYPES.entries()) {
    const result = resultOf(fieldOf(answer, 'result', `step-${index + 1}`));
    const named = entriesOf(fieldOf(result, 'name'), MAX_BEANS + 1);
    for (const [name, bean] of named) builder.addBean(formatBeanName(type), readBean(bean, name));
    if (named.length === 0) builder.addBean(formatBeanName(type), readBean(result));
  }
  const [threads, worker] = further.map((optional) => resultOf(parseOptionalJson(optional)));
  builder.addBean('Threading', readBean(threads));
  const busy = fieldOf(worker, 'busy-task-thread-count');
  const most = fieldOf(worker, 'max-pool-size') ?? fieldOf(worker, 'task-max-threads');
  if (busy !== undefined) builder.addConnector('worker default', busy, most);
  return builder.build("WildFly's management interface returned none of the platform's beans.");
}

function resultOf(answer: unknown): unknown {
  return fieldOf(answer, 'outcome') === 'success' ? fieldOf(answer, 'result') : undefined;
}

/** The attributes under the names of the MXBean. In `name`, an address of WildFly, `_` stands for a space. */
function readBean(resource: unknown, name?: string): object {
  const attributes = entriesOf(resource, MAX_ATTRIBUTES).map(([key, value]) => [formatBeanName(key), value] as const);
  return { ...Object.fromEntries(attributes), ...(name === undefined ? {} : { Name: name.replaceAll('_', ' ') }) };
}

/** `HeapMemoryUsage` for `heap-memory-usage`. */
function formatBeanName(key: string): string {
  return key.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
