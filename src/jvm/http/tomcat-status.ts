/**
 * Tomcat's status page (`/manager/status?JSON=true`), role manager-status: the fewest rights of all sources, and
 * read-only. It has only memory; classes and collectors must come from another source.
 */
import type { JvmReading } from '../jvm-source.ts';
import { adviceForManager } from './http-errors.ts';
import type { HttpKind } from './http-source.ts';
import { fieldOf, formatError, parseJson } from './json.ts';
import { addUp, MAX_BEANS, type NamedUsage, ReadingBuilder } from './reading-builder.ts';

export const TOMCAT_STATUS: HttpKind = {
  name: 'tomcat-status',
  defaultPath: '/manager',
  path: '/status?JSON=true',
  accept: 'application/json',
  advice: adviceForManager('manager-status'),
  parse: parseTomcatStatus,
};

/**
 * Parses `{"tomcat":{"jvm":{"memory":{"free","total","max"},"memorypool":[{"name","type","usageInit",...}]}}}`. Classes
 * and collectors stay empty. Throws `D2S_ERR_JVM_FORMAT`.
 */
export function parseTomcatStatus(text: string): JvmReading {
  const parsed = parseJson(text, 'Tomcat’s status page');
  const jvm = fieldOf(parsed, 'tomcat', 'jvm');
  const listed = fieldOf(jvm, 'memorypool');
  if (!Array.isArray(listed))
    throw formatError(
      `The answer is not Tomcat's status page as JSON. jvm.http.url should be that of the manager web application of a Tomcat that has one, e.g. http://127.0.0.1:8080/manager.`,
    );
  const builder = new ReadingBuilder();
  const heap: NamedUsage[] = [];
  const nonHeap: NamedUsage[] = [];
  // One more than allowed, so that the builder reports the excess.
  for (const entry of listed.slice(0, MAX_BEANS + 1)) {
    const pool = {
      name: fieldOf(entry, 'name'),
      init: fieldOf(entry, 'usageInit'),
      used: fieldOf(entry, 'usageUsed'),
      committed: fieldOf(entry, 'usageCommitted'),
      max: fieldOf(entry, 'usageMax'),
    };
    builder.addPool(pool.name, pool);
    if (fieldOf(entry, 'type') === 'Heap memory') heap.push(pool);
    if (fieldOf(entry, 'type') === 'Non-heap memory') nonHeap.push(pool);
  }
  // The page reads `memory` at another moment than the pools, so only its maximum is used: that never changes.
  builder.heap = { ...addUp(heap, 'heap'), max: fieldOf(jvm, 'memory', 'max') };
  builder.nonHeap = addUp(nonHeap, 'nonHeap');
  const connectors = fieldOf(parsed, 'tomcat', 'connector');
  for (const connector of Array.isArray(connectors) ? connectors.slice(0, MAX_BEANS) : []) {
    const threads = fieldOf(connector, 'threadInfo');
    builder.addConnector(
      fieldOf(connector, 'name'),
      fieldOf(threads, 'currentThreadsBusy'),
      fieldOf(threads, 'maxThreads'),
    );
  }
  return builder.build("Tomcat's status page names no memory pool.");
}
