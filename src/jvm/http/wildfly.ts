/** The management API of WildFly and JBoss EAP over HTTP (standalone servers): one composite read of the MXBeans. */
import type { JvmReading } from '../jvm-reading.ts';
import { JvmSourceError } from '../jvm-source.ts';
import type { HttpKind } from './http-source.ts';
import { entriesOf, fieldOf, parseJson } from './json.ts';
import { MAX_BEANS, ReadingBuilder, usageOf } from './reading-builder.ts';

/** Without `runtime`: its system properties may contain passwords, and it needs more rights. */
const TYPES = ['class-loading', 'memory', 'memory-pool', 'garbage-collector'] as const;

const ofBean = (type: string) => ({
  operation: 'read-resource',
  address: [{ 'core-service': 'platform-mbean' }, { type }],
  'include-runtime': true,
});

/** Separate requests: in a composite operation, a failed step rolls back all others. */
const FURTHER = [
  ofBean('threading'),
  // Requests run in its default worker.
  { operation: 'read-resource', address: [{ subsystem: 'io' }, { worker: 'default' }], 'include-runtime': true },
];

export const WILDFLY: HttpKind = {
  name: 'wildfly',
  defaultPath: '/management',
  path: '',
  accept: 'application/json',
  body: JSON.stringify({
    operation: 'composite',
    address: [],
    steps: TYPES.map((type) => ({
      operation: 'read-resource',
      address: [{ 'core-service': 'platform-mbean' }, { type }],
      recursive: true,
      'include-runtime': true,
    })),
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
  if (fieldOf(answer, 'outcome') !== 'success')
    throw new JvmSourceError(
      'D2S_ERR_JVM_FORMAT',
      `WildFly's management interface did not carry out the read (${codeOf(answer)}); see the server's log.`,
    );
  const [classes, memory, pools, collectors] = TYPES.map((_, index) => {
    const step = fieldOf(answer, 'result', `step-${index + 1}`);
    return fieldOf(step, 'outcome') === 'success' ? fieldOf(step, 'result') : undefined;
  });
  const builder = new ReadingBuilder();
  builder.setClasses(fieldOf(classes, 'total-loaded-class-count'), fieldOf(classes, 'unloaded-class-count'));
  builder.setHeap(usageOf(fieldOf(memory, 'heap-memory-usage')));
  builder.setNonHeap(usageOf(fieldOf(memory, 'non-heap-memory-usage')));
  for (const [name, pool] of entriesOf(fieldOf(pools, 'name'), MAX_BEANS + 1)) {
    const isHeap = fieldOf(pool, 'type') === 'HEAP';
    const usedAfterGc = isHeap ? fieldOf(pool, 'collection-usage', 'used') : undefined;
    builder.addPool(toBeanName(name), usageOf(fieldOf(pool, 'usage')), usedAfterGc);
  }
  for (const [name, collector] of entriesOf(fieldOf(collectors, 'name'), MAX_BEANS + 1))
    builder.addCollector(
      toBeanName(name),
      fieldOf(collector, 'collection-count'),
      fieldOf(collector, 'collection-time'),
    );
  addServer(builder, further.map(toResult));
  return builder.build('D2S_ERR_JVM_FORMAT', "WildFly's management interface returned none of the platform's beans.");
}

/** Undefined for an unreadable answer: these values are optional. */
function toResult(text: string | undefined): unknown {
  try {
    const answer: unknown = text === undefined ? undefined : JSON.parse(text);
    return fieldOf(answer, 'outcome') === 'success' ? fieldOf(answer, 'result') : undefined;
  } catch {
    return undefined;
  }
}

function addServer(builder: ReadingBuilder, [threads, worker]: readonly unknown[]): void {
  const thread = (key: string) => fieldOf(threads, key);
  builder.setThreads(thread('thread-count'), thread('daemon-thread-count'), thread('peak-thread-count'));
  const most = fieldOf(worker, 'max-pool-size') ?? fieldOf(worker, 'task-max-threads');
  const busy = fieldOf(worker, 'busy-task-thread-count');
  if (busy !== undefined) builder.addConnector('worker default', busy, most);
}

/** `G1 Eden Space` for `G1_Eden_Space`: a name in an address cannot contain spaces. */
function toBeanName(name: string): string {
  return name.replaceAll('_', ' ');
}

/** E.g. `WFLYCTL0313`; the rest of a description is not trusted. */
function codeOf(answer: unknown): string {
  const description = fieldOf(answer, 'failure-description');
  // For a composite operation it is an object whose only key is the message.
  const message = typeof description === 'string' ? description : entriesOf(description, 1)[0]?.[0];
  return /\bWFLY[A-Z]{2,10}\d{4}\b/.exec(message ?? '')?.[0] ?? 'no code';
}
