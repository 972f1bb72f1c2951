/** Reads the metrics page of an exporter inside or beside the JVM, in the text format of Prometheus. */
import type { JvmReading } from '../jvm-reading.ts';
import type { JvmSource } from '../jvm-source.ts';
import { parseAddress } from './address.ts';
import { HttpClient, type HttpSourceOptions, type ReadOperation } from './http-client.ts';
import { KEYS } from './keys.ts';
import { BasicLogin } from './login.ts';
import { parsePrometheusJvm } from './prometheus-jvm.ts';

const READ: ReadOperation = { method: 'GET', path: '', accept: 'text/plain;version=0.0.4' };

export class PrometheusSource implements JvmSource {
  readonly name = 'prometheus';
  readonly #client: HttpClient;

  /**
   * `url` is the page's own, e.g. `http://127.0.0.1:9404/metrics` (by default `/metrics` of the host). If the page is
   * too large, add a query, e.g. `?includedNames=jvm_memory_used_bytes`.
   */
  constructor(options: HttpSourceOptions) {
    this.#client = new HttpClient({
      ...options,
      address: parseAddress(options.url, '/metrics', true),
      login: new BasicLogin(),
      advice: {
        forbidden: `The user (${KEYS.username}) may not read the metrics page; let it.`,
        notFound: `Is the metrics page at another path? ${KEYS.url} is to hold it, e.g. http://127.0.0.1:8080/actuator/prometheus.`,
      },
    });
  }

  async read(signal: AbortSignal): Promise<JvmReading> {
    return parsePrometheusJvm(await this.#client.read(READ, signal));
  }

  close(): void {
    this.#client.close();
  }
}
