/** An application server for calls of the page's tests, and an exporter of JVM metrics; both can be stopped and restarted. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Keeps its port over restarts. */
export class RestartableServer {
  readonly #listener: RequestListener;
  #server: Server | undefined;
  #port = 0;

  constructor(listener: RequestListener) {
    this.#listener = listener;
  }

  get port(): number {
    return this.#port;
  }

  async start(): Promise<void> {
    this.#server = createServer(this.#listener);
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }
}

/** 500 for paths with `Fails`, 404 without credentials, else 200. */
export function createUpstream(): RestartableServer {
  return new RestartableServer((request, response) => {
    request.resume();
    request.on('end', () => {
      const known = request.headers.authorization !== undefined;
      const status = !known ? 404 : (request.url ?? '').includes('Fails') ? 500 : 200;
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': 2 });
      response.end('{}');
    });
  });
}

const MIB = 1024 * 1024;
/** Readings from one collection to the next. */
const FILL = 40;

/** As Prometheus' Java client writes them: a heap that fills and is collected. */
export function createJvm(): RestartableServer {
  let asked = 0;
  return new RestartableServer((_request, response) => {
    asked += 1;
    const used = Math.round(182 + (asked % FILL) * 4.6 + 5 * Math.sin(asked)) * MIB;
    const collections = Math.floor(asked / FILL) + 3;
    response.end(`# TYPE jvm_memory_used_bytes gauge
jvm_memory_used_bytes{area="heap"} ${used}
jvm_memory_used_bytes{area="nonheap"} 9.4e7
jvm_memory_committed_bytes{area="heap"} ${512 * MIB}
jvm_memory_committed_bytes{area="nonheap"} 1.0e8
jvm_memory_max_bytes{area="heap"} ${1024 * MIB}
jvm_memory_max_bytes{area="nonheap"} -1
jvm_memory_init_bytes{area="heap"} ${256 * MIB}
jvm_memory_init_bytes{area="nonheap"} 7667712
jvm_memory_pool_used_bytes{pool="G1 Old Gen"} ${used}
jvm_memory_pool_committed_bytes{pool="G1 Old Gen"} ${512 * MIB}
jvm_memory_pool_max_bytes{pool="G1 Old Gen"} ${1024 * MIB}
jvm_memory_pool_init_bytes{pool="G1 Old Gen"} 0
jvm_memory_pool_collection_used_bytes{pool="G1 Old Gen"} ${(172 + (collections % 3)) * MIB}
jvm_classes_loaded_total 14210
jvm_classes_unloaded_total 12
jvm_gc_collection_seconds_count{gc="G1 Young Generation"} ${collections}
jvm_gc_collection_seconds_sum{gc="G1 Young Generation"} ${(collections * 0.046 + asked * 0.0013).toFixed(4)}
jvm_gc_collection_seconds_count{gc="G1 Old Generation"} 0
jvm_gc_collection_seconds_sum{gc="G1 Old Generation"} 0
`);
  });
}
