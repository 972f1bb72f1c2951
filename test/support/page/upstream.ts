/** An application server for calls of the page's tests, and an exporter of JVM metrics; both can be stopped and restarted. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Keeps its port over restarts. */
export class RestartableServer {
  readonly #listener: RequestListener;
  #server: Server | undefined;
  port = 0;

  constructor(listener: RequestListener) {
    this.#listener = listener;
  }

  async start(): Promise<void> {
    this.#server = createServer(this.#listener).listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.port = (this.#server.address() as AddressInfo).port;
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

export function createUpstream(): RestartableServer {
  return new RestartableServer(({ headers, url = '' }, response) => {
    const status = headers.authorization === undefined ? 404 : url.includes('Fails') ? 500 : 200;
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': 2 });
    response.end('{}');
  });
}

const MIB = 1024 * 1024;

/** As Prometheus' Java client writes them: a heap in use of a maximum, and a collector. */
export function createJvm(): RestartableServer {
  return new RestartableServer((_request, response) => {
    response.end(`# TYPE jvm_memory_used_bytes gauge
jvm_memory_used_bytes{area="heap"} ${182 * MIB}
jvm_memory_committed_bytes{area="heap"} ${512 * MIB}
jvm_memory_max_bytes{area="heap"} ${1024 * MIB}
jvm_memory_pool_used_bytes{pool="G1 Old Gen"} ${182 * MIB}
jvm_memory_pool_collection_used_bytes{pool="G1 Old Gen"} ${172 * MIB}
jvm_classes_loaded_total 14210
jvm_gc_collection_seconds_count{gc="G1 Young Generation"} 3
jvm_gc_collection_seconds_sum{gc="G1 Young Generation"} 0.138
`);
  });
}
