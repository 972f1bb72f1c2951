/** The existing site: Debian's Tomcat with an application, its clients, and Debian's Prometheus. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { vi } from 'vitest';
import { ROOT } from '../../support/docs/documents.ts';
import type { Machine } from '../../support/guides/machine.ts';

const APPLICATION = path.join(ROOT, 'test/support/tomcat');
const WEBAPP = '/var/lib/tomcat10/webapps/smartWeb/WEB-INF';
const REST = 'smartWeb/api/rest/v0';
const LOGIN = "--user 'anna:word of anna'";
const CALLS = 5;
const DEADLINE_MS = 200_000;
const POLL_MS = 250;

export class Plant {
  readonly #machine: Machine;
  calls = 0;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  async start(): Promise<void> {
    const read = (file: string) => readFileSync(path.join(APPLICATION, file), 'utf8');
    for (const name of ['web.xml', 'rest.jsp'])
      await this.#machine.write(`${WEBAPP}/${name}`, read(`webapp/WEB-INF/${name}`));
    await this.#machine.write('/etc/tomcat10/tomcat-users.xml', read('tomcat-users.xml'));
    await this.#machine.succeed('systemctl enable --now tomcat10 prometheus');
    await this.untilReady();
  }

  async untilReady(): Promise<void> {
    await this.until(async () => (await this.#post(8080, 1)) === '200 ', 'Tomcat does not answer');
  }

  async user(): Promise<string> {
    return (await this.#machine.succeed('ps -o user= -C java')).trim();
  }

  /** A login and calls of anna, like clients that were moved to the sidecar. */
  async call(): Promise<void> {
    const login = `http://127.0.0.1:8081/${REST}/d2/auth/login`;
    await this.#machine.succeed(`curl --silent --show-error --fail ${LOGIN} ${login}`);
    const statuses = await this.#post(8081, CALLS);
    if (statuses !== '200 '.repeat(CALLS)) throw new Error(`calls through the sidecar: ${statuses}`);
  }

  async callService(): Promise<void> {
    await this.call();
    this.calls += CALLS;
  }

  async #post(port: number, calls: number): Promise<string> {
    const url = `http://127.0.0.1:${port}/${REST}/d2/rpc/E.Demo/TestInOut?call=[1-${calls}]`;
    const options = "--silent --max-time 20 --output /dev/null --write-out '%{http_code} ' --data '{}'";
    return (await this.#machine.run(`curl ${options} ${LOGIN} '${url}'`)).stdout;
  }

  /** The single value of a query in Prometheus; undefined while it has none. */
  async query(promql: string): Promise<number | undefined> {
    const options = `--silent --show-error --get --data-urlencode 'query=${promql}'`;
    const { stdout } = await this.#machine.run(`curl ${options} http://127.0.0.1:9090/api/v1/query`);
    const { data } = JSON.parse(stdout) as { data: { result: readonly { value: readonly [number, string] }[] } };
    const value = data.result[0]?.value[1];
    return value === undefined ? undefined : Number(value);
  }

  /** Rejects with `otherwise` after a timeout. */
  async until(isSo: () => Promise<boolean>, otherwise: string): Promise<void> {
    const patience = { timeout: DEADLINE_MS, interval: POLL_MS };
    await vi.waitUntil(isSo, patience).catch((cause) => Promise.reject(new Error(otherwise, { cause })));
  }
}
