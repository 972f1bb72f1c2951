/** Starts JolokiaServer.java on the Jolokia of Debian's `libjolokia-core-java`. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { jsonOf } from '../../../../support/configured-sidecar.ts';
import type { Defer } from '../../../../support/deferred.ts';
import type { Beans } from '../../../../support/jvm/truth/beans.ts';
import { exitOf, stopProcess } from '../../../../support/sidecar-process.ts';

const CLASS_PATH = ['/usr/share/java/jolokia-core.jar', '/usr/share/java/json-simple.jar'];

export interface JolokiaServer {
  readonly origin: string;
  beans(): Promise<Beans>;
}

/** True where Jolokia and a JDK, which runs the program from its source, are installed. */
export function isJolokiaInstalled(): boolean {
  return CLASS_PATH.every((jar) => existsSync(jar)) && spawnSync('javac', ['-version']).status === 0;
}

export async function startJolokia(defer: Defer, ...options: readonly string[]): Promise<JolokiaServer> {
  const program = path.join(import.meta.dirname, 'JolokiaServer.java');
  const child = spawn('java', [...options, '-Xms48m', '-Xmx96m', '-cp', CLASS_PATH.join(':'), program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = exitOf(child);
  defer(() => stopProcess(child, exited, 'SIGTERM'));
  const line = once(createInterface({ input: child.stdout }), 'line') as Promise<[string]>;
  const [port] = await Promise.race([line, exited.then((code) => Promise.reject(new Error(`ended with ${code}`)))]);
  const origin = `http://127.0.0.1:${port}`;
  const beans = () => jsonOf<Beans>(`${origin}/beans`);
  // The first reading loads classes; later readings do not.
  await beans();
  await beans();
  return { origin, beans };
}
