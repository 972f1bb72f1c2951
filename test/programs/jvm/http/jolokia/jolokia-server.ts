/** Starts JolokiaServer.java on the Jolokia of Debian's `libjolokia-core-java`. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import type { Beans } from '../../../../support/jvm/truth/beans.ts';
import { exitOf, stopProcess } from '../../../../support/sidecar-process.ts';

const CLASS_PATH = ['/usr/share/java/jolokia-core.jar', '/usr/share/java/json-simple.jar'];
const PROGRAM = fileURLToPath(new URL('JolokiaServer.java', import.meta.url));

export interface JolokiaServer {
  readonly origin: string;
  beans(): Promise<Beans>;
  stop(): Promise<void>;
}

/** True where Jolokia and a JDK, which runs the program from its source, are installed. */
export function isJolokiaInstalled(): boolean {
  return CLASS_PATH.every((jar) => existsSync(jar)) && spawnSync('javac', ['-version']).status === 0;
}

export async function startJolokia(options: readonly string[]): Promise<JolokiaServer> {
  const child = spawn('java', [...options, '-Xms48m', '-Xmx96m', '-cp', CLASS_PATH.join(':'), PROGRAM], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = exitOf(child);
  const stop = async () => {
    await stopProcess(child, exited, 'SIGTERM');
  };
  const line = once(createInterface({ input: child.stdout }), 'line') as Promise<[string]>;
  const [port] = await Promise.race([line, exited.then((code) => Promise.reject(new Error(`ended with ${code}`)))]);
  const origin = `http://127.0.0.1:${port}`;
  const beans = async () => (await (await request(`${origin}/beans`)).body.json()) as Beans;
  // The first look loads classes of its own; the ones after it find them there.
  await beans();
  await beans();
  return { origin, beans, stop };
}
